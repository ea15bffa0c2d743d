package store

import (
	"fmt"
	"strings"
)

const (
	ledgeUser = "ledge"
	tapUser   = "tap"
	// historyUser is also its password: it keeps nobody out, it only says which account is meant.
	historyUser = "history"

	tapAccount     = "TAP"
	historyAccount = "HISTORY"

	// infoSubject is the service that tells each stream's first and last sequence; see [Store.Info].
	infoSubject = "ledge.info"
)

// Limits of one client of the tap server. What a client sends is a subject or a question, never a payload.
const (
	tapPayload       = 4 << 10 // bytes
	tapControlLine   = 4 << 10 // bytes
	tapSubscriptions = 16
)

// logAccounts is the configuration of the log's server: LEDGE holds the streams and our connections, which nobody else has.
func logAccounts(password string) string {
	return fmt.Sprintf("accounts { LEDGE { jetstream: enabled, users: [{user: %s, password: %q}] } }\n", ledgeUser, password)
}

// deskUser is who answers in an account; see [connection].
func deskUser(account string) string { return ledgeUser + "-" + strings.ToLower(account) }

// tapAccounts is the configuration of the tap server's accounts, in the server's own language. LEDGE has only our
// connection that publishes live. TAP, which needs no login, imports that, and nobody in it may publish. In HISTORY a client may
// ask and hear the answers. Nothing is live there, so that no answer can be taken for a live event.
//
// Where clients have identities, those who may read history have what is live as well, on one connection. Answers stay apart from
// events: they go to inboxes only, and nobody hears what others ask.
func tapAccounts(password string, most [classes]int, identities bool) string {
	var exports, live, past []string
	to, hears := "TAP", "]"
	may := []string{fmt.Sprintf("%q", infoSubject)}
	if identities {
		to, hears = "TAP, HISTORY", fmt.Sprintf(`, "ledge.>"], deny: [%q]`, infoSubject)
	}
	for _, st := range streams {
		exports = append(exports, fmt.Sprintf("{stream: %q, accounts: [%s]}", st.public+">", to))
		live = append(live, fmt.Sprintf("{stream: {account: LEDGE, subject: %q}}", st.public+">"))
		may = append(may, fmt.Sprintf("%q, %q", directGet+st.name, directGet+st.name+".>"))
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
	historyUserOf := func(account string) string {
		return fmt.Sprintf(", {user: %s, password: %q}", deskUser(account), password)
	}
	asks := fmt.Sprintf("publish: {allow: [%s]}, subscribe: {allow: [%q", list(may), inboxes+">")
	return fmt.Sprintf("accounts {\n  LEDGE { users: [{user: %s, password: %q}], exports: [%s] }\n", ledgeUser, password, list(exports)) +
		account(tapAccount, tapUser, "", `publish: {deny: [">"]}, subscribe: {allow: [">"]}`, live, most[ofTaps], "") +
		account(historyAccount, historyUser, historyUser, asks+hears+"}", past, most[ofHistory]+1, historyUserOf(historyAccount)) +
		"}\nno_auth_user: " + tapUser + "\n"
}
