"""Prints a trace's calls, one per line, and whether their times make sense."""
import json
import sys

with open(sys.argv[1]) as file:
    # The list of events stays open at its end.
    events = json.loads(file.read().rstrip().rstrip(",") + "]")
for event in events:
    assert event["ph"] == "X" and event["dur"] >= 0, event
    assert event["pid"] > 0 and event["tid"] > 0, event
    args = dict(event["args"])
    result = args.pop("result")
    listed = ", ".join(str(args[str(i + 1)]) for i in range(len(args)))
    print(f"{event['name']}({listed}) = {result}")
ends = [event["ts"] + event["dur"] for event in events
        if event["tid"] == events[0]["tid"]]
print("ordered" if ends == sorted(ends) else "out of order")
