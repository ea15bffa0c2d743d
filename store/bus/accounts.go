package bus

import (
	"fmt"
	"strings"

	"ledge/domain"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	feedUser, edgexUser = "ledge", "ledge-edgex" // our own connections
	liveUser            = "live"

	// feedAccount has the copies and the clients that may read history, edgexAccount EdgeX services, liveAccount the other clients.
	// In open mode all clients are in feedAccount.
	feedAccount, edgexAccount, liveAccount = "FEED", "EDGEX", "LIVE"

	// ingest begins the subjects on which we publish. The copies store such a message under its own subject, which begins with prefix.
	ingest, prefix = "$LEDGE.feed.", "ledge."
)

// accounts is the configuration of the accounts, in the server's own language. In open mode clients need not log in.
func accounts(password string, prefixes []string, open bool) string {
	var exports, imports []string
	for _, p := range prefixes {
		exports = append(exports, fmt.Sprintf("{stream: %q, accounts: [%s]}", p+">", liveAccount))
		imports = append(imports, fmt.Sprintf("{stream: {account: %s, subject: %q}}", feedAccount, p+">"))
	}
	text := fmt.Sprintf(`accounts {
  %s {
    users: [{user: %s, password: %q}]
    jetstream: {max_mem: 64M, max_file: -1, max_streams: %d, max_consumers: %d}
    exports: [%s]
  }
  %s {
    users: [{user: %s, password: %q}]
    imports: [%s]
  }
  %s {
    users: [{user: %s, password: %q}]
    jetstream: {max_mem: 16M, max_file: -1, max_streams: 1, max_consumers: %d}
  }
}
`, feedAccount, feedUser, password, len(prefixes)+1, consumersMost, strings.Join(exports, ", "),
		liveAccount, liveUser, password, strings.Join(imports, ", "), edgexAccount, edgexUser, password, consumersMost)
	if open {
		text += "no_auth_user: " + liveUser + "\n" // has the server say that clients need no login; the authenticator decides
	}
	return text
}

// usesAll are the permissions of everybody in open mode: those of [readsHistory], and to publish on EdgeX's message bus and hear it.
func usesAll() *server.Permissions {
	p := readsHistory()
	p.Publish.Allow = append(p.Publish.Allow, edgexSubjects)
	p.Subscribe.Allow = append(p.Subscribe.Allow, edgexSubjects)
	return p
}

// servesEdgeX are the permissions in [edgexAccount]: all that EdgeX's clients need, in core mode and with JetStream.
func servesEdgeX() *server.Permissions {
	return &server.Permissions{
		Publish: &server.SubjectPermission{Allow: []string{
			edgexSubjects, "$JS.ACK." + edgexStream + ".>", "$JS.API.STREAM.INFO." + edgexStream,
			"$JS.API.CONSUMER.CREATE." + edgexStream, "$JS.API.CONSUMER.CREATE." + edgexStream + ".>",
			"$JS.API.CONSUMER.DELETE." + edgexStream + ".>",
		}},
		Subscribe: &server.SubjectPermission{Allow: []string{edgexSubjects, "_INBOX.>"}},
	}
}

// readsHistory are the permissions in [feedAccount]: all that JetStream offers for reading streams and for consumers, and replays. A client
// cannot create, change, purge or delete a stream, and cannot publish anything else.
func readsHistory() *server.Permissions {
	return &server.Permissions{
		Publish: &server.SubjectPermission{Allow: []string{
			"$JS.API.INFO", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.LIST", "$JS.API.STREAM.INFO.*", "$JS.API.STREAM.MSG.GET.*",
			"$JS.API.CONSUMER.>", "$JS.ACK.>", "$JS.FC.>",
		}},
		Subscribe: &server.SubjectPermission{Allow: []string{prefix + ">", replayed + ">", "_INBOX.>"}},
	}
}

// hearsLive are the permissions in [liveAccount]. Only roles that may change subscriptions and send commands hear
// the answers of receivers and of device services.
func hearsLive(role domain.Role) *server.Permissions {
	p := &server.Permissions{
		Publish:   &server.SubjectPermission{Deny: []string{">"}},
		Subscribe: &server.SubjectPermission{Allow: []string{prefix + ">", "_INBOX.>"}},
	}
	if !role.May(domain.MayChange) {
		const transmission = "ledge.notification.*.*."
		p.Subscribe.Deny = []string{transmission + "tried", transmission + "processed", "ledge.event.command.>"}
	}
	return p
}
