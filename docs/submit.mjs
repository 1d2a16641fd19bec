// Submits one job from another language:  npm install amqplib && node submit.mjs APP KEY
import { connect } from "amqplib";
import { randomUUID } from "node:crypto";

const [app, key] = process.argv.slice(2);
const envelope = { queue_name: "planner", actor_name: "submit", args: [], kwargs: { app, key }, options: {},
  message_id: randomUUID(), message_timestamp: Date.now() };
const connection = await connect(process.env.AMQP_URL ?? "amqp://guest:guest@127.0.0.1:5672/");
const channel = await connection.createConfirmChannel();
channel.on("return", () => { console.error("no queue named planner: is a worker up?"); process.exitCode = 1; });
channel.sendToQueue("planner", Buffer.from(JSON.stringify(envelope)), { persistent: true, mandatory: true });
await channel.waitForConfirms();
await connection.close();
