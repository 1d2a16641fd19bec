#!/bin/sh
# Writes the secrets of docker-compose.yml as files in the folder ./secrets beside it:
#
#   sh ops/deploy/compose/secrets.sh             # for RabbitMQ
#   sh ops/deploy/compose/secrets.sh redis
#
# A password or token that exists is kept, and everything that contains one is written again. So to change one, remove
# its file, run this again, and then `docker compose up --detach --force-recreate`.
#
# Each container has a user of its own, and Compose mounts the files as they are. So the folder is closed to all other
# users of the machine, and each file can be read by the containers that it is mounted into.
set -eu
broker=${1:-rabbitmq}
folder=${2:-$(dirname "$0")/../../../secrets}
umask 077
mkdir -p "$folder"
cd "$folder"

# Writes its input to a file at once or not at all.
put() {
  cat >"$1.new"
  chmod 0444 "$1.new"
  mv -f "$1.new" "$1"
}

# Sets a variable to the text of a password's file, which is created if it does not exist.
secret() {
  [ -s "$2" ] || openssl rand -hex 24 | put "$2"
  value=$(cat "$2")
  case $value in
    '' | *[!A-Za-z0-9]*) echo "$2: use letters and digits alone, because it becomes part of an address" >&2 && exit 1 ;;
  esac
  eval "$1=\$value"
}

# Prints a user of RabbitMQ: name, password, tags. The four characters of salt are text, which is as good as any bytes.
user() {
  salt=$(openssl rand -hex 2)
  hash=$({ printf %s "$salt"; printf %s%s "$salt" "$2" | openssl dgst -sha256 -binary; } | openssl base64 -A)
  printf '{"name": "%s", "password_hash": "%s", "tags": [%s], ' "$1" "$hash" "$3"
  printf '"hashing_algorithm": "rabbit_password_hashing_sha256"}'
}

# Prints what a user of RabbitMQ may configure, write and read.
rights() {
  printf '{"user": "%s", "vhost": "/", "configure": "%s", "write": "%s", "read": "%s"}' "$1" "$2" "$3" "$4"
}

secret postgres postgres-password   # of the superuser, which migrates
secret control control-password     # of sluice_control in the database
secret worker worker-password       # of sluice_worker in the database
secret administrator broker-password # of the user sluice of RabbitMQ or Redis, who may do anything and is for people
secret of_control control-broker-password
secret of_worker worker-broker-password
secret of_console console-broker-password
secret token console-token
secret token console-view-token

echo "postgresql://sluice:$postgres@postgres:5432/sluice" | put owner-ledger-url
echo "postgresql://sluice_control:$control@postgres:5432/sluice" | put control-ledger-url
echo "postgresql://sluice_worker:$worker@postgres:5432/sluice" | put worker-ledger-url
echo "postgresql://sluice_worker:$worker@postgres:5432/sluice" | put console-ledger-url
put postgres-service <<END
[sluice]
host=postgres
dbname=sluice
user=sluice
password=$postgres
END

# As `sluice broker roles rabbitmq` has them.
ours='^(?!amq\\.).*$'
apps='^(?!amq\\.)(?!(sluice\\.submit$|(planner|groomer|scheduler)(\\.XQ)?$)).*$'
exchange='^amq\\.default$'
put rabbitmq-users <<END
{
  "vhosts": [{"name": "/"}],
  "users": [
    $(user sluice "$administrator" '"administrator"'),
    $(user sluice_control "$of_control" ''),
    $(user sluice_worker "$of_worker" ''),
    $(user sluice_operator "$of_console" '')
  ],
  "permissions": [
    $(rights sluice '.*' '.*' '.*'),
    $(rights sluice_control "$ours" '.*' "$ours"),
    $(rights sluice_worker "$apps" "$exchange" "$apps"),
    $(rights sluice_operator '^$' "$exchange" '^$')
  ]
}
END

# As `sluice broker roles redis` has them, with no user for control. Without a password only PING is answered.
works='~dramatiq:* &dramatiq:__bell__ +ping +auth +hello +select +@read +@write +@scripting +@transaction'
works="$works +publish +subscribe +unsubscribe -@dangerous +keys +time"
put redis.conf <<END
appendonly yes
appendfsync always
user default on nopass resetkeys resetchannels nocommands +ping
user sluice on >$administrator ~* &* +@all
user sluice_worker on >$of_worker resetkeys resetchannels nocommands $works
user sluice_operator on >$of_console resetkeys resetchannels nocommands $works +info +config|get
END

case $broker in
  rabbitmq)
    echo "amqp://sluice_control:$of_control@rabbitmq:5672/" | put control-broker-url
    echo "amqp://sluice_worker:$of_worker@rabbitmq:5672/" | put worker-broker-url
    echo "amqp://sluice_operator:$of_console@rabbitmq:5672/" | put console-broker-url
    ;;
  redis)
    for part in control worker; do
      echo "redis://sluice_worker:$of_worker@redis:6379/0" | put $part-broker-url
    done
    echo "redis://sluice_operator:$of_console@redis:6379/0" | put console-broker-url
    ;;
  *) echo "the broker is rabbitmq or redis, not $broker" >&2 && exit 2 ;;
esac
