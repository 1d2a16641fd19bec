// Submits one job from another language:  npm install amqplib && node submit.mjs APP KEY
// With MESSAGE_KEY=id:secret it is signed; with EXCHANGE=sluice.submit its user needs no more than to write to that.
import { connect } from "amqplib";
import { createHmac, randomUUID } from "node:crypto";

const [app, key] = process.argv.slice(2);
const { AMQP_URL = "amqp://guest:guest@127.0.0.1:5672/", EXCHANGE = "", MESSAGE_KEY } = process.env;
const envelope = { queue_name: "planner", actor_name: "submit", args: [], kwargs: { app, key }, options: {},
  message_id: randomUUID(), message_timestamp: Date.now() };
let body = JSON.stringify(envelope);
if (MESSAGE_KEY) {
  const [id, secret] = MESSAGE_KEY.split(/:(.*)/s);
  body = `HMAC-SHA256 ${id} ${createHmac("sha256", secret).update(body).digest("hex")}\n${body}`;
}
const connection = await connect(AMQP_URL);
const channel = await connection.createConfirmChannel();
channel.on("return", () => { console.error("no queue named planner: is a worker up?"); process.exitCode = 1; });
channel.publish(EXCHANGE, "planner", Buffer.from(body), { persistent: true, mandatory: true });
await channel.waitForConfirms();
await connection.close();
