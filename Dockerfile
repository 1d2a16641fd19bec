# One image for every part of Sluice: workers, migrations, the command. What it runs is said by its user.
FROM python:3.13-slim AS build
WORKDIR /build
RUN python -m venv /opt/sluice
COPY requirements.lock .
# What every Sluice runs on, and the extra for SLUICE_TRACE. The ledger is on a server, so the embedded one is left out.
RUN sed '/^# For the extra `embedded`/,/^# For the extra `trace`/d; /^# For `make test`/,$d' requirements.lock >running.lock \
    && /opt/sluice/bin/pip install --no-cache-dir --require-hashes -r running.lock
COPY . .
RUN /opt/sluice/bin/pip install --no-cache-dir --no-index --no-deps --no-build-isolation .

FROM python:3.13-slim
# What fetches programs from other machines, and what SLUICE_SANDBOX=bubblewrap runs jobs in.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends bubblewrap openssh-client rsync \
    && rm -rf /var/lib/apt/lists/*
RUN useradd --create-home --uid 10001 sluice \
    && install --directory /apps \
    && install --directory --owner=sluice --mode=0750 /var/lib/sluice
COPY --from=build /opt/sluice /opt/sluice
ENV PATH=/opt/sluice/bin:$PATH PYTHONUNBUFFERED=1
USER sluice
WORKDIR /home/sluice
CMD ["sluice", "--help"]
