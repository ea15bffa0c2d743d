package domain

import "strings"

// anonymous is what the actor of a client that has not logged in begins with. Events of earlier versions have no more.
const anonymous = "anonymous"

// AnonymousAt returns the actor of a client that has not logged in. address is where it asks from, host:port.
func AnonymousAt(address string) string {
	host := strings.Trim(address[:max(strings.LastIndexByte(address, ':'), 0)], "[]")
	switch host {
	case "":
		return anonymous
	case "127.0.0.1":
		return anonymous + "@127.0.0.1" // without an allocation
	}
	return anonymous + "@" + host
}

// IdentityOf returns whose an Idempotency-Key is. Clients that have not logged in are one identity: a client may send a
// request again from another address.
func IdentityOf(actor string) string {
	if strings.HasPrefix(actor, anonymous+"@") {
		return anonymous
	}
	return actor
}
