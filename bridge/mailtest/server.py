"""An SMTP server for tests: PORT plain|starttls|starttls-only|implicit CERT KEY [USER PASSWORD]

It writes "ready", then a line of JSON for each message that it takes. Recipients that begin with "no" are refused for
good, those with "later" for now, those with "grey" for now the first time, and mail for those with "stall" is never answered.
"""
import asyncio, json, ssl, sys
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

port, mode, cert, key = int(sys.argv[1]), *sys.argv[2:5]
account = tuple(sys.argv[5:7])
seen = set()


class Handler:
    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith("no"):
            return "550 5.1.1 nobody of that name"
        if address.startswith("later"):
            return "451 4.3.0 come back later"
        if address.startswith("grey") and address not in seen:
            seen.add(address)
            return "451 4.7.1 greylisted"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        if any(a.startswith("stall") for a in envelope.rcpt_tos):
            print(json.dumps({"stalled": True}), flush=True)
            await asyncio.Event().wait()
        print(json.dumps({
            "from": envelope.mail_from, "to": envelope.rcpt_tos, "data": envelope.content.decode(),
            "tls": session.ssl is not None or mode == "implicit", "user": session.auth_data,
        }), flush=True)
        return "250 kept"


def authenticate(server, session, envelope, mechanism, login):
    ok = (login.login.decode(), login.password.decode()) == account
    return AuthResult(success=ok, handled=False, auth_data=login.login.decode() if ok else None)


context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH) if mode != "plain" else None
if context:
    context.load_cert_chain(cert, key)
options = {}
if account:
    options = {"authenticator": authenticate, "auth_required": True, "auth_require_tls": mode.startswith("starttls")}
if mode == "implicit":
    options["ssl_context"] = context
elif context:
    options.update(tls_context=context, require_starttls=mode == "starttls-only")
controller = Controller(Handler(), hostname="127.0.0.1", port=port, enable_SMTPUTF8=True, **options)
controller.start()
print("ready", flush=True)
sys.stdin.read()  # until the test ends
