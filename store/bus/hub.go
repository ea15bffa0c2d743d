package bus

import (
	"net/url"

	"github.com/nats-io/nats-server/v2/server"
)

// Hub is a NATS cluster that the bus joins as a leafnode. The cluster reads the copies, for example as sources of streams of its own, and
// can change nothing.
type Hub struct {
	// URLs are the leafnode listeners of the servers of the cluster, with the user and password. One is used at a time.
	// The scheme tls wants TLS.
	URLs []*url.URL
	// Node is the name of the node, and the JetStream domain of its copies.
	Node string
}

// hubSubscriptions is how many subscriptions the hub may have here.
const hubSubscriptions = 1000

// join has a server join the hub.
func (h *Hub) join(o *server.Options) {
	if h == nil {
		return
	}
	api := "$JS." + h.Node + ".API."
	o.JetStreamDomain = h.Node
	o.MaxSubs = hubSubscriptions // the server has one limit for clients and leafnodes
	o.LeafNode.Remotes = []*server.RemoteLeafOpts{{
		LocalAccount: feedAccount, URLs: h.URLs, TLS: h.URLs[0].Scheme == "tls",
		// The hub may not send these. Its consumers and their acknowledgements pass.
		DenyImports: []string{
			prefix + ">", ingest + ">", replayed + ">", edgexSubjects, "$JS.API.>",
			api + "STREAM.CREATE.>", api + "STREAM.UPDATE.>", api + "STREAM.DELETE.>", api + "STREAM.PURGE.>", api + "STREAM.RESTORE.>",
			api + "STREAM.SNAPSHOT.>", api + "STREAM.MSG.DELETE.>", api + "STREAM.PEER.>", api + "STREAM.LEADER.>",
			api + "ACCOUNT.>", api + "META.>", api + "SERVER.>",
		},
	}}
}
