package channels

import (
	"ledge/bridge"
	"ledge/domain"
	"ledge/handlers/notifications"
)

// reservations refuse the channels of subscriptions that could never be delivered.
type reservations struct {
	*bridge.Engine
	kinds map[string]kind
	// serverKey is the public key of CURVE, or empty.
	serverKey string
}

// NewChannelChecks returns the check that refuses channels that cannot be delivered to.
func (cs *Channels) NewChannelChecks() notifications.Channels {
	return reservations{cs.Engine, cs.kinds, PublicKey(cs.curveKey)}
}

// Reserve implements notifications.Channels.
func (c reservations) Reserve(list []domain.Channel) (done func(seq uint64), err error) {
	for i, ch := range list {
		check := c.kinds[ch.Type].check
		if check == nil {
			continue
		}
		if err := check(ch); err != nil {
			return nil, domain.Errorf(domain.Invalid, "channels[%d].%v", i, err)
		}
	}
	return c.Engine.Reserve(list)
}

// ServerKey implements notifications.Channels.
func (c reservations) ServerKey() string { return c.serverKey }
