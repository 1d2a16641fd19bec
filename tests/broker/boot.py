"""Worker process of ``test_processes``. Dramatiq's command line calls ``boot`` in each process."""

import logging
import os
import sys

from sluice.broker.connect import connect
from sluice.broker.consumer.service import serve
from sluice.broker.consumer.slots import Slots
from sluice.broker.consumer.supervisor import supervise
from sluice.broker.delivery import Delivery
from sluice.broker.messages import Execute, Message


def boot() -> None:
    logging.basicConfig(level=logging.INFO)
    broker = connect(os.environ["BOOT_URL"], namespace=os.environ["BOOT_NAMESPACE"])
    serve(broker, {"execute": execute}, [os.environ["BOOT_QUEUE"]], slots=Slots(control=0, apps=3)).enlist()


def execute(message: Message, delivery: Delivery) -> None:
    assert isinstance(message, Execute)
    with open(os.environ["BOOT_FILE"], "a") as file:  # noqa: PTH123 - several processes append at once
        file.write(f"{os.getpid()} {message.jobs[0].job}\n")


if __name__ == "__main__":
    sys.exit(supervise("tests.broker.boot:boot", processes=2, grace_s=5))
