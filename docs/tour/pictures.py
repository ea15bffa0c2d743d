#!/usr/bin/env python3
"""Saves every picture that is posted as <folder>/<device>/<reading's id>.<kind>: first those on record, then each as it
comes. Ledge keeps the place to continue from, as the durable consumer "pictures", through restarts of this program and of
Ledge. Needs nats-py: pip install nats-py

usage: pictures.py folder [nats://127.0.0.1:4222 [http://127.0.0.1:59880]]
"""
import asyncio, base64, hashlib, http.client, io, json, pathlib, re, sys, urllib.error, urllib.request

import nats

folder = pathlib.Path(sys.argv[1])
url = sys.argv[2] if len(sys.argv) > 2 else "nats://127.0.0.1:4222"
data = sys.argv[3] if len(sys.argv) > 3 else "http://127.0.0.1:59880"


async def follow():
    """Saves what the consumer gives, until something fails. The consumer is made if it is not there."""
    connection = await nats.connect(url, allow_reconnect=False)
    try:
        stream = connection.jetstream()
        durable = await stream.pull_subscribe("", durable="pictures", stream="LEDGE_READINGS")
        print("listening", flush=True)
        while not connection.is_closed:
            try:
                [message] = await durable.fetch(1, timeout=5)
            except nats.errors.TimeoutError:
                continue
            try:
                await asyncio.to_thread(take, message.headers, message.data)
            except (OSError, ValueError, http.client.HTTPException) as error:
                print(f"{message.subject}: {error}; trying again", flush=True)
                await message.nak(delay=1)
            else:
                await message.ack()  # after saving: if this program ends before, the message comes again
    finally:
        await connection.close()


def take(header, payload):
    """Saves the pictures of a message."""
    if header["ce-type"] == "reading.posted/1":
        device = header["ce-subject"].split("/")[1]  # profile, device, resource
        save(device, header["ce-readingid"], header["content-type"], int(header["ce-size"]), header.get("ce-digest"), payload)
    elif header["ce-type"] == "event.added/1" and "ce-digest" in header:  # Ledge leaves out more than 512 KiB
        print(f"{header['ce-subject']}: an event of {header['ce-size']} bytes is only at core-data: {header.get('ce-dataref')}", flush=True)
    elif header["ce-type"] == "event.added/1":
        for r in json.loads(payload)["readings"]:
            save(r["device"], r["id"], r.get("mediaType", ""), r["size"], r.get("digest"), base64.b64decode(r.get("data", "")))


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


async def main():
    folder.mkdir(parents=True, exist_ok=True)
    while True:
        try:
            await follow()
        except (OSError, nats.errors.Error) as error:
            print(f"{error!r}; trying again", flush=True)
        await asyncio.sleep(1)


asyncio.run(main())
