package main

import (
	"fmt"
	"net/http"
	"testing"
)

// notYet are the exchanges that need what Ledge does not have yet.
var notYet = map[int]string{
	571: "adds subscriptions with a REST channel",
	573: "adds a subscription with a REST channel",
	575: "adds a subscription with a REST channel",
	599: "adds a subscription with an e-mail channel",
	613: "shows a REST channel",
	616: "shows REST channels",
	618: "shows a REST channel",
	620: "shows an e-mail channel",
	731: "adds a subscription with a REST channel",
	742: "shows a delivery by REST",
	750: "shows a delivery by REST",
	751: "adds a subscription with a REST channel",
	753: "shows a delivery by REST that failed",
	756: "shows a delivery by REST that failed",
	780: "adds a secret",
}

// TestRecordedNotifications repeats what clients asked EdgeX's support-notifications. The subscriptions that it finds have
// ZeroMQ channels.
func TestRecordedNotifications(t *testing.T) {
	p := start(t, t.TempDir())
	replayAll(t, p, p.notifications, "testdata/exchanges/notifications.jsonl", notificationsGiven(freePort(t)))
}

func notificationsGiven(port int) []given {
	const category, label = `"categories":["%s-zdbec7d9"]`, `"labels":["%s-zdbec7d9"]`
	subscription := func(before int, name, tags, state, id string) given {
		return given{before, http.MethodPost, "subscription", fmt.Sprintf(`[{"apiVersion":"v2","subscription":{"name":"ref-zdbec7d9-%s","channels":[{"type":"ZeroMQ","host":"127.0.0.1","port":%d,"topic":"t"}],`+
			`"receiver":"rcv-zdbec7d9",%s,"description":"sub","adminState":%q,"id":%q}}]`, name, port, tags, state, id)}
	}
	notification := func(before int, tags, content, description, sender, id string) given {
		return given{before, http.MethodPost, "notification", fmt.Sprintf(`[{"apiVersion":"v2","notification":{%s,"content":%q,"contentType":"text/plain","description":%q,"sender":%q,"severity":"NORMAL","id":%q}}]`, tags, content, description, sender, id)}
	}
	posted := func(before int, tags, id string) given {
		return notification(before, tags, "hello", "nd", "snd-zdbec7d9", id)
	}
	change := func(before int, what, id string) given {
		return notification(before, `"labels":["metadata"]`, "Metadata notice:  ref-zdbec7d9-chg1 Device "+what, "Metadata change notice", "core-metadata", id)
	}
	cat := fmt.Sprintf(category, "cat")
	return []given{
		subscription(571, "s1", cat+","+fmt.Sprintf(label, "slb"), "UNLOCKED", "f017d99e-9b7d-49fc-a6ea-b2eea30d7ad9"),
		subscription(572, "s2", fmt.Sprintf(category, "cf"), "UNLOCKED", "35647e92-c84d-465d-895f-eed12e402dff"),
		subscription(572, "s3", cat, "LOCKED", "9a952c0f-43ff-4277-b517-a1ec5b9eaae3"),
		subscription(572, "s4", fmt.Sprintf(label, "only"), "UNLOCKED", "9b3f915a-4d37-48b9-9f2e-9008bd9a82da"),
		subscription(575, "s5", fmt.Sprintf(category, "c5"), "UNLOCKED", "fc104f0f-1125-536b-973a-7cd1753f92af"),
		subscription(600, "s7", fmt.Sprintf(category, "em"), "UNLOCKED", "92e186f5-65bd-491a-816f-c9e37ce40ef6"),
		posted(658, `"category":"cat-zdbec7d9"`, "8e57473c-b83c-4d17-bdfa-21166f251c89"),
		posted(660, fmt.Sprintf(label, "only"), "3e3cacec-b0ee-4ff7-bd98-fcdd8248fd94"),
		posted(668, `"labels":["slb-zdbec7d9","only-zdbec7d9"]`, "f85a4495-390c-44a1-b0bb-19e66b94f0cc"),
		posted(680, `"category":"none-zdbec7d9"`, "ed0780bc-b54a-4938-b31a-56e92d326f76"),
		{770, http.MethodDelete, "notification/id/8e57473c-b83c-4d17-bdfa-21166f251c89", ""},
		change(789, "creation", "2c917fde-ff6f-4b60-a8ac-7af452fa2304"),
		change(791, "removal", "40cb7226-c1d0-453d-bfd4-59a1eed2926e"),
	}
}
