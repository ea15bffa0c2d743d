package store

import (
	"fmt"
	"strings"
)

const (
	ledgeUser  = "ledge"
	tapUser    = "tap"
	tapAccount = "TAP"
	// historyUser is also its password: it keeps nobody out, it only says which account is meant.
	historyUser = "history"

	// infoSubject is the service that tells each stream's first and last sequence; see [Store.answerInfo].
	infoSubject = "ledge.info"
)

// accountsConfig is the server's configuration of its accounts, in its own language. LEDGE holds the streams and only
// our connections. TAP, which needs no login, imports what is published live, and nobody in it may publish. HISTORY may
// ask the exported services and hear only their answers. They are two because whoever asks chooses the subject of the
// answer: in one account, a tap could have old events answered as live ones to the others.
func accountsConfig(password string) string {
	var exports, live, services, may []string
	imported := func(kind, subject string) string {
		return fmt.Sprintf("{%s: {account: LEDGE, subject: %q}}", kind, subject)
	}
	serve := func(subject, more string) {
		exports = append(exports, fmt.Sprintf("{service: %q%s, accounts: [HISTORY]}", subject, more))
		services = append(services, imported("service", subject))
		may = append(may, fmt.Sprintf("%q", subject))
	}
	for _, st := range streams {
		exports = append(exports, fmt.Sprintf("{stream: %q, accounts: [TAP]}", st.public+">"))
		live = append(live, imported("stream", st.public+">"))
		serve(directGet+st.name, ", response: stream")
		serve(directGet+st.name+".>", ", response: stream")
	}
	serve(infoSubject, "")
	list := func(all []string) string { return strings.Join(all, ", ") }
	return fmt.Sprintf(`accounts {
  LEDGE { jetstream: enabled, users: [{user: %s, password: %q}], exports: [%s] }
  TAP {
    users: [{user: %s, password: "", permissions: {publish: {deny: [">"]}}}]
    imports: [%s]
  }
  HISTORY {
    users: [{user: %s, password: %s, permissions: {publish: {allow: [%s]}, subscribe: {allow: ["_INBOX.>"]}}}]
    imports: [%s]
  }
}
no_auth_user: %s
`, ledgeUser, password, list(exports), tapUser, list(live), historyUser, historyUser, list(may), list(services), tapUser)
}
