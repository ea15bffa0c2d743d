package tap

import (
	"fmt"
	"strings"
)

const (
	ledgeUser = "ledge"
	tapUser   = "tap"
	// historyUser is also its password: it protects nothing, it only selects the account.
	historyUser   = "history"
	responderUser = ledgeUser + "-history" // see [responder]

	tapAccount     = "TAP"
	historyAccount = "HISTORY"

	// infoSubject is the service that tells each stream's first and last sequence; see [Source].
	infoSubject = "ledge.info"
	// directGet begins the subjects of requests for history, which JetStream calls direct gets.
	directGet = "$JS.API.DIRECT.GET."
)

// Limits of one client of the tap server. A client sends subjects and requests, never payloads.
const (
	clientPayload     = 4 << 10 // bytes
	controlLine       = 4 << 10 // bytes
	subscriptionsMost = 16
)

// accounts is the configuration of the tap server's accounts, in the server's own language. LEDGE has only our
// connection that publishes live. TAP, which needs no login, imports that, and nobody in it may publish. In HISTORY a client may
// ask and hear the answers. Nothing is live there, so that no answer can be taken for a live event.
//
// Where clients have identities, those who may read history have what is live as well, on one connection. Answers stay apart from
// events: they go to inboxes only, and nobody hears what others ask.
func accounts(logs []Log, password string, most [classes]int, identities bool) string {
	var exports, live, past []string
	to, hears := "TAP", "]"
	may := []string{fmt.Sprintf("%q", infoSubject)}
	if identities {
		to, hears = "TAP, HISTORY", fmt.Sprintf(`, "ledge.>"], deny: [%q]`, infoSubject)
	}
	for _, l := range logs {
		exports = append(exports, fmt.Sprintf("{stream: %q, accounts: [%s]}", l.Prefix()+">", to))
		live = append(live, fmt.Sprintf("{stream: {account: LEDGE, subject: %q}}", l.Prefix()+">"))
		may = append(may, fmt.Sprintf("%q, %q", directGet+l.Name(), directGet+l.Name()+".>"))
	}
	if identities {
		past = live
	}
	list := func(all []string) string { return strings.Join(all, ", ") }
	account := func(name, user, password, may string, imports []string, most int, more string) string {
		return fmt.Sprintf(`  %s {
    users: [{user: %s, password: %q, permissions: {%s}}%s]
    imports: [%s]
    limits: {max_connections: %d}
  }
`, name, user, password, may, more, list(imports), most)
	}
	own := fmt.Sprintf(", {user: %s, password: %q}", responderUser, password)
	asks := fmt.Sprintf("publish: {allow: [%s]}, subscribe: {allow: [%q", list(may), inboxes+">")
	return fmt.Sprintf("accounts {\n  LEDGE { users: [{user: %s, password: %q}], exports: [%s] }\n", ledgeUser, password, list(exports)) +
		account(tapAccount, tapUser, "", `publish: {deny: [">"]}, subscribe: {allow: [">"]}`, live, most[ofTaps], "") +
		account(historyAccount, historyUser, historyUser, asks+hears+"}", past, most[ofHistory]+1, own) +
		"}\nno_auth_user: " + tapUser + "\n"
}

// withAnswers returns the subjects of events that contain answers of receivers or device services. Only roles that may change subscriptions
// and send commands, or audit, see them.
func withAnswers() []string {
	const transmission = "ledge.notification.*.*."
	return []string{transmission + "tried", transmission + "processed", "ledge.event.command.*.issued"}
}
