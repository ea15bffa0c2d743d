// Package zeromq publishes messages on ZeroMQ PUB sockets that stay up on an open port.
//
// A [Publisher] is one PUB socket. [Listen] binds it, [Publisher.Publish] sends a message of two
// frames, the topic and the body, to each subscriber that has subscribed to a prefix of the
// topic, and [Publisher.Close] sends what is queued and frees the port. [Sockets] shares
// publishers between the channels that name the same host and port, and sends what each channel
// publishes only to the peers that its [Access] admits.
//
// The sockets are those of github.com/go-zeromq/zmq4. The TCP connections are this package's:
// it checks a peer before zmq4 sees it, and gives each subscriber its own bounded queue and
// writer. DESIGN.md beside the code says why.
//
// Caveats:
//
//   - PUB sockets lose messages by definition. A subscriber that joins late misses what was sent
//     before, and one that reads too slowly loses whole messages, which [Publisher.Drops] counts.
//   - Only ZMTP 3 is spoken, with the mechanism CURVE where a channel has [Access].ClientKeys, and
//     NULL otherwise. [Access].Allow admits subscribers by address, which proves little.
//   - A libzmq SUB socket drops its own subscriptions above its send high-water mark (1,000):
//     set ZMQ_SNDHWM to 0 before it subscribes to thousands of topics.
//   - A libzmq SUB socket re-subscribes after the publisher was bound again only while its
//     application polls.
package zeromq
