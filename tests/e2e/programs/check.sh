#!/bin/sh
# check.sh SOURCE FOLDER [nvcc's options]: builds a program, converts it and
# runs it on two emulated GPUs, a wave32 and a wave64 one. On both it must
# print PASS and exit with 0. DEVICES replaces the pair of GPUs that each run
# sees, RUN_ENV adds variables, CONVERT options of the conversion.
set -e
source=$1
folder=$2
shift 2
rm -rf "$folder"
mkdir -p "$folder"
nvcc -std=c++17 -o "$folder/app" "$source" -lcuda "$@"
cerberus-convert -q "$folder/app" -o "$folder/app.amd" --arch gfx1100,gfx942 \
  $CONVERT
for device in ${DEVICES:-gfx1100 gfx942}; do
  if ! env -i CERBERUS_DEVICE="$device" $RUN_ENV "$folder/app.amd" \
      > "$folder/$device.out" 2> "$folder/$device.err" ||
      ! grep -q '^PASS$' "$folder/$device.out"; then
    echo "$source on $device:"
    cat "$folder/$device.out" "$folder/$device.err"
    exit 1
  fi
done
