from celery import Celery

app = Celery("shop", broker="redis://", backend="db+postgresql:///shop", include=["fan_out", "nightly"])
