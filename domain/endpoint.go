package domain

import "strconv"

// Endpoint names what is at the other end of a channel, for all channels that share it: what is wrong with one is wrong
// with the others.
func (c Channel) Endpoint() string {
	return c.Type + "/" + c.Host + "/" + strconv.Itoa(c.Port)
}

// EndpointState is how the delivery to an endpoint goes at a moment.
type EndpointState struct {
	Endpoint string // as Channel.Endpoint names it
	// Waiting are the transmissions that are queued for it, and More says that there are others on record. UnderWay are
	// the sends that have begun.
	Waiting, UnderWay int
	More              bool
	// Failures is how many sends in a row have failed. PausedUntil, in milliseconds since the Unix epoch, is when one is
	// tried again; 0 where nothing holds it back.
	Failures    int
	PausedUntil int64
}
