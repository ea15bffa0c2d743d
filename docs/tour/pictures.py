#!/usr/bin/env python3
"""Saves every picture that is posted as <folder>/<device>/<reading's id>.<kind>: first those on record, then each as it
comes. <folder>/next has the sequence to go on from, after a restart of this program or of Ledge. Needs Python alone.

usage: pictures.py folder [127.0.0.1:4222 [http://127.0.0.1:59880]]
"""
import base64, hashlib, http.client, io, json, pathlib, re, secrets, socket, sys, time, urllib.error, urllib.request

folder = pathlib.Path(sys.argv[1])
tap = sys.argv[2] if len(sys.argv) > 2 else "127.0.0.1:4222"
data = sys.argv[3] if len(sys.argv) > 3 else "http://127.0.0.1:59880"
place = folder / "next"
inbox = "_INBOX." + secrets.token_hex(11)  # nobody else may listen to it


class Nats:
    """What a tap needs of NATS' protocol: lines, and messages with headers."""

    def __init__(self, **login):
        host, port = tap.removeprefix("nats://").rsplit(":", 1)
        self.file = socket.create_connection((host, int(port)), timeout=300).makefile("rwb")  # the server pings sooner
        self.file.readline()  # INFO
        self.send("CONNECT " + json.dumps({"verbose": False, "headers": True, **login}))

    def send(self, line, end="\r\n"):
        self.file.write((line + end).encode())
        self.file.flush()

    def next(self):
        """Returns headers and payload of the next message, ({}, b"") for a PONG."""
        while words := self.file.readline().decode().split():
            if words[0] == "PING":
                self.send("PONG")
            elif words[0] == "PONG":
                return {}, b""
            elif words[0] in ("MSG", "HMSG"):
                whole = self.file.read(int(words[-1]) + 2)[:-2]
                if len(whole) < int(words[-1]):
                    break
                split = int(words[-2]) if words[0] == "HMSG" else 0
                version, *lines = whole[:split].decode().split("\r\n")
                return {"status": version[9:12], **dict(line.split(": ", 1) for line in lines if line)}, whole[split:]
            else:
                raise OSError(" ".join(words))
        raise OSError("the connection was closed")

    def ask(self, subject, request=""):
        self.send(f"PUB {subject} {inbox} {len(request)}\r\n{request}")
        return self.next()


def catch_up(start, to=None):
    """Takes from history what is missing up to a sequence, or the last; some of it may be kept no more."""
    if to is not None and start > to:
        return start
    history = Nats(user="history", **{"pass": "history"})
    history.send(f"SUB {inbox} 1")
    if to is None:
        to = json.loads(history.ask("ledge.info")[1])["LEDGE_READINGS"]["last"]
        if start > to + 1:
            raise ValueError(f"{place} says {start}, but the log ends at {to}: it is another one")
    while start <= to:
        header, payload = history.ask("$JS.API.DIRECT.GET.LEDGE_READINGS", json.dumps({"seq": start, "next_by_subj": ">"}))
        if header["status"] == "404" or int(header["Nats-Sequence"]) > to:
            start = to + 1
        else:
            start = take(header, payload)
    return start


def take(header, payload):
    """Saves the pictures of a message and returns the sequence after it."""
    if header["ce-type"] == "reading.posted/1":
        device = header["ce-subject"].split("/")[1]  # profile, device, resource
        save(device, header["ce-readingid"], header["content-type"], int(header["ce-size"]), header.get("ce-digest"), payload)
    elif header["ce-type"] == "event.added/1":
        for r in json.loads(payload)["readings"]:
            save(r["device"], r["id"], r.get("mediaType", ""), r["size"], r.get("digest"), base64.b64decode(r.get("data", "")))
    after = int(header["Nats-Sequence"]) + 1
    whole = folder / "next.new"
    whole.write_text(str(after))
    whole.replace(place)
    return after


def save(device, reading, media_type, size, digest, payload):
    kind = re.match(r"image/([\w.+-]+)", media_type)
    if not kind:
        return
    try:
        body = urllib.request.urlopen(f"{data}/api/v2/reading/id/{reading}/binary", timeout=60) if digest else io.BytesIO(payload)
    except urllib.error.HTTPError as error:
        if error.code != 404:
            raise
        return print(reading, "has been removed", flush=True)
    (folder / device).mkdir(exist_ok=True)
    incoming, count, sha256 = folder / "incoming", 0, hashlib.sha256()
    with body, incoming.open("wb") as file:
        while part := body.read(1 << 16):
            count += file.write(part)
            sha256.update(part)
    if count != size or digest and sha256.hexdigest() != digest:
        raise OSError(f"{reading}: got {count} bytes with digest {sha256.hexdigest()}, want {size} with {digest}")
    print("saved", incoming.replace(folder / device / f"{reading}.{kind[1]}"), flush=True)  # whole and what was posted


folder.mkdir(parents=True, exist_ok=True)
while True:
    try:
        start = int(place.read_text()) if place.exists() else 1
        live = Nats()
        live.send("SUB ledge.reading.> 1\r\nPING")  # what happens from the PONG on is not missed
        while True:
            header, payload = live.next()
            start = catch_up(start, int(header["Nats-Sequence"]) - 1 if header else None)
            if not header:
                print("up to date", flush=True)
            elif int(header["Nats-Sequence"]) >= start:
                start = take(header, payload)
    except (OSError, ValueError, http.client.HTTPException) as error:
        print(f"{error}; trying again", flush=True)
        time.sleep(1)
