#!/bin/sh
# Creates the roles that the parts of docker-compose.yml connect as, with the SQL of `sluice db roles` in the file $1,
# and sets their passwords, which are in the folder $2. It is run after every migration, because rights to new tables
# are granted by it.
set -eu
psql --quiet --no-psqlrc --set=ON_ERROR_STOP=1 --file="$1" >/dev/null
cd "$2"
psql --quiet --no-psqlrc --set=ON_ERROR_STOP=1 <<'SQL'
\set password `cat control-password`
ALTER ROLE sluice_control PASSWORD :'password';
\set password `cat worker-password`
ALTER ROLE sluice_worker PASSWORD :'password';
SQL
