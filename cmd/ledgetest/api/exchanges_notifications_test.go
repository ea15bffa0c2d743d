package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ledge/bridge/porttest"
	"ledge/cmd/ledgetest"
)

// otherWords are the recorded answers of receivers, and the errors, as Ledge puts them on record: the status of an
// answer goes before its text, and an error says what to do. docs/reference/edgex-differences.md has both.
var otherWords = []string{
	`"response":"subscriber ok"`, `"response":"200 OK"`,
	`"response":"fail to send the HTTP request -\u003e Post \"http://127.0.0.1:1/x\": dial tcp 127.0.0.1:1: connect: connection refused"`,
	`"response":"no answer from 127.0.0.1:1: connect: connection refused"`,
	`"response":"fail to create http request -\u003e create new request occurs error -\u003e parse \"http://127.0.0.1:RECEIVERhook/noslash\": invalid port \":RECEIVERhook\" after host"`,
	`"response":"answered 404 Not Found (answers of this machine are not shown)"`, // with the slash put in front
}

// TestRecordedNotifications repeats what clients asked EdgeX's support-notifications, with a receiver in the place of the
// one that was there. Nothing is sent again, as in EdgeX where a notification is not CRITICAL.
func TestRecordedNotifications(t *testing.T) {
	port := ledgetest.URLPort(t, ledgetest.NewReceiver(t).URL)
	p := ledgetest.Start(t, t.TempDir(), "--resend-limit", "0", "--smtp-server", fmt.Sprint("smtp+plain://127.0.0.1:", porttest.Hold(t), "?from=ledge@example.org"))
	theirs := strings.NewReplacer("42089", "RECEIVER")
	words, ours := strings.NewReplacer(otherWords...), strings.NewReplacer("RECEIVER", fmt.Sprint(port))
	all := readExchanges(t, "testdata/exchanges/notifications.jsonl")
	for i := range all {
		all[i].Body = ours.Replace(theirs.Replace(all[i].Body))
		all[i].Answer = ours.Replace(words.Replace(theirs.Replace(all[i].Answer)))
	}
	replayAll(t, p, p.Notifications, p.Notifications, all, notificationsGiven(port))
}

func notificationsGiven(port int) []given {
	const category, label = `"categories":["%s-zdbec7d9"]`, `"labels":["%s-zdbec7d9"]`
	subscription := func(before int, name, path, method, tags, state, id string) given {
		return given{before, http.MethodPost, "subscription", fmt.Sprintf(`[{"apiVersion":"v2","subscription":{"name":"ref-zdbec7d9-%s","channels":[{"type":"REST","host":"127.0.0.1","port":%d,"path":%q,"httpMethod":%q}],`+
			`"receiver":"rcv-zdbec7d9",%s,"description":"sub","adminState":%q%s}}]`, name, port, path, method, tags, state, id)}
	}
	own := func(before int, path, method, tags, name, id string) given {
		return subscription(before, name, path, method, tags, "UNLOCKED", `,"id":"`+id+`"`)
	}
	hook := func(before int, name, path, method string) given {
		return subscription(before, name, path, method, fmt.Sprintf(category, name), "UNLOCKED", "")
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
		own(571, "/hook/ok", "POST", cat+","+fmt.Sprintf(label, "slb"), "s1", "f017d99e-9b7d-49fc-a6ea-b2eea30d7ad9"),
		subscription(572, "s3", "/hook/ok", "POST", cat, "LOCKED", `,"id":"9a952c0f-43ff-4277-b517-a1ec5b9eaae3"`),
		own(575, "/hook/ok", "POST", fmt.Sprintf(category, "c5"), "s5", "fc104f0f-1125-536b-973a-7cd1753f92af"),
		posted(658, `"category":"cat-zdbec7d9"`, "8e57473c-b83c-4d17-bdfa-21166f251c89"),
		posted(660, fmt.Sprintf(label, "only"), "3e3cacec-b0ee-4ff7-bd98-fcdd8248fd94"),
		posted(668, `"labels":["slb-zdbec7d9","only-zdbec7d9"]`, "f85a4495-390c-44a1-b0bb-19e66b94f0cc"),
		posted(680, `"category":"none-zdbec7d9"`, "ed0780bc-b54a-4938-b31a-56e92d326f76"),
		hook(740, "chget", "/hook/ok", "GET"),
		hook(748, "chdelete", "/hook/ok", "DELETE"),
		hook(754, "chns", "hook/noslash", "POST"),
		posted(755, `"category":"chns-zdbec7d9"`, "92a513ec-cc8a-429a-af03-cda6fd390de9"),
		{770, http.MethodDelete, "notification/id/8e57473c-b83c-4d17-bdfa-21166f251c89", ""},
		change(789, "creation", "2c917fde-ff6f-4b60-a8ac-7af452fa2304"),
		change(791, "removal", "40cb7226-c1d0-453d-bfd4-59a1eed2926e"),
	}
}
