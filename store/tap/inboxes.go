package tap

import (
	"strings"

	"github.com/nats-io/nats-server/v2/server"
)

// inboxes begins the subjects to which answers go. No event is published there.
const inboxes = "_INBOX."

// listener returns the connection that hears a subject, by the server's number; not ok where none does or several do. It is the one that
// answers are for: so nobody has an answer sent to another's inbox, to be taken for the answer to what that one asked. A
// connection that listens to the inboxes of others is cut off.
func (h *history) listener(reply string) (cid uint64, ok bool) {
	if !strings.HasPrefix(reply, inboxes) {
		return 0, false
	}
	all, err := h.tap.server.Subsz(&server.SubszOptions{Account: historyAccount, Subscriptions: true, Test: reply})
	if err != nil {
		return 0, false
	}
	for _, sub := range all.Subs {
		switch {
		case overhears(sub.Subject):
			h.cut(&reader{cid: sub.Cid, client: h.tap.client(sub.Cid)}, "it listens to the inboxes of others")
		case ok && sub.Cid != cid:
			return 0, false
		default:
			cid, ok = sub.Cid, true
		}
	}
	return cid, ok
}

// overhears reports whether a subscription is to more than one client's inbox: it has a wildcard in its first two tokens.
func overhears(subject string) bool {
	tokens := strings.SplitN(subject, ".", 3)
	for _, t := range tokens[:min(len(tokens), 2)] {
		if t == "*" || t == ">" {
			return true
		}
	}
	return false
}

// cut closes a connection.
func (h *history) cut(r *reader, why string) {
	h.tap.log.Warn("tap cut off", "client", r.client, "reason", why)
	h.tap.kick(r.cid)
}
