"""Prints values of a JSON file: query.py FILE PATH..., as in a/0/b."""
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    document = json.load(file)
for path in sys.argv[2:]:
    value = document
    for part in path.split("/"):
        value = value[int(part) if isinstance(value, list) else part]
    print(value)
