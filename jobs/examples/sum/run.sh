#!/bin/sh
# Adds its arguments.
total=0
for number in "$@"; do
    total=$((total + number))
done
echo "$total"
