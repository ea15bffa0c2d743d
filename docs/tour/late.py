#!/usr/bin/env python3
"""Prints [topic, body] of every message on a ZeroMQ channel, also of those that it was not there for.
Debian: apt install python3-zmq.

usage: late.py http://localhost:59860 subscription tcp://127.0.0.1:5563 topic place

The file named place keeps where to go on at the next start; without it, it begins at the first that is on record.
"""
import json
import pathlib
import sys
import urllib.request

import zmq

service, name, address, topic = sys.argv[1:5]
place = pathlib.Path(sys.argv[5])

socket = zmq.Context.instance().socket(zmq.SUB)
socket.setsockopt(zmq.SUBSCRIBE, topic.encode())
socket.connect(address)  # first of all: what happens from now on is not missed


def handle():
    """Takes one message. A message may come twice: do here only what may be done twice."""
    print([f.decode() for f in socket.recv_multipart()], flush=True)


start, more = place.read_text() if place.exists() else "1", True
while more:  # then replay, in parts that the socket can hold while the answer is waited for
    request = urllib.request.Request(f"{service}/api/v2/subscription/name/{name}/replay?from={start}&limit=500", method="POST")
    with urllib.request.urlopen(request) as response:
        replay = json.load(response)["replay"]
    missing = replay["count"]  # of what was sent, and live ones come among them
    while socket.poll(5000 if missing > 0 else 500):
        handle()
        missing -= 1
    if missing > 0 or replay["dropped"] > 0:
        continue  # the same part again
    start, more = str(replay["next"]), replay["more"]
    place.write_text(start)  # all up to there is handled

print("up to date", file=sys.stderr, flush=True)
while True:
    handle()
