#!/usr/bin/env python3
"""Prints [topic, body] of every message on a ZeroMQ channel. Debian: apt install python3-zmq.

usage: subscriber.py tcp://127.0.0.1:5563 cam [count]
"""
import sys

import zmq

address, topic = sys.argv[1], sys.argv[2]
count = int(sys.argv[3]) if len(sys.argv) > 3 else -1

socket = zmq.Context.instance().socket(zmq.SUB)
socket.setsockopt(zmq.SUBSCRIBE, topic.encode())
socket.connect(address)
while count != 0:
    frames = socket.recv_multipart()
    print([f.decode() for f in frames], flush=True)
    count -= 1
