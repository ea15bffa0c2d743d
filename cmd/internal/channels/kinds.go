package channels

import (
	"context"
	"errors"
	"time"

	"ledge/bridge"
	"ledge/bridge/delivery"
	"ledge/bridge/mail"
	"ledge/bridge/mqtt"
	"ledge/bridge/outward"
	"ledge/bridge/rest"
	"ledge/domain"
	"ledge/handlers/notifications"
)

// kind is the program's part of one kind of channel.
type kind struct {
	send delivery.Sender
	// check returns an error for a channel that could never be delivered. It begins with the name of the field at fault. nil checks
	// nothing.
	check func(domain.Channel) error
}

// kinds has a row for each row of domain.ChannelKinds, by its type.
func (cs *Channels) kinds() map[string]kind {
	by := func(send func(context.Context, domain.Transmission, outward.Message) (string, error)) delivery.Sender {
		return func(ctx context.Context, t domain.Transmission, n domain.Notification) (string, error) {
			return send(ctx, t, messageOf(t, n))
		}
	}
	return map[string]kind{
		domain.ChannelZeroMQ: {send: cs.Engine.Send},
		domain.ChannelREST: {
			send: by(func(ctx context.Context, t domain.Transmission, m outward.Message) (string, error) {
				return cs.out.rest.Send(ctx, restTarget(t.Channel), m)
			}),
			check: func(ch domain.Channel) error { return cs.Guard.Destination(ch.Host, ch.Port) },
		},
		domain.ChannelMQTT: {
			send: by(func(ctx context.Context, t domain.Transmission, m outward.Message) (string, error) {
				return cs.out.mqtt.Send(ctx, mqttTarget(t.Channel), m)
			}),
			check: func(ch domain.Channel) error {
				if err := cs.Guard.Destination(ch.Host, ch.Port); err != nil {
					return err
				}
				return cs.out.mqtt.CheckSecret(mqttTarget(ch))
			},
		},
		domain.ChannelEmail: {
			send: by(func(ctx context.Context, t domain.Transmission, m outward.Message) (string, error) {
				return cs.out.mail.Send(ctx, mailTarget(t), m)
			}),
			check: func(domain.Channel) error {
				if cs.SMTPServer == "" {
					return errors.New("type: EMAIL cannot be delivered, because there is no mail server; name one in the setting smtp-server")
				}
				return nil
			},
		},
	}
}

// senders are the ways to the channels, by their type.
func (cs *Channels) senders() map[string]delivery.Sender {
	senders := map[string]delivery.Sender{}
	for kind, row := range cs.kinds() {
		senders[kind] = row.send
	}
	return senders
}

func messageOf(t domain.Transmission, n domain.Notification) outward.Message {
	id, hops := domain.CutHops(t.CorrelationID)
	return outward.Message{
		ID: t.ID, NotificationID: n.ID, At: time.UnixMilli(n.Created), Sequence: t.Sequence, Sender: n.Sender, ContentType: n.ContentType, Body: []byte(n.Content), CorrelationID: id, Hops: hops,
	}
}

func restTarget(ch domain.Channel) rest.Target {
	return rest.Target{Scheme: ch.Scheme, Host: ch.Host, Port: ch.Port, Path: ch.Path, Method: ch.HTTPMethod}
}

// mailTarget are the recipients that do not have the message yet.
func mailTarget(t domain.Transmission) mail.Target {
	if len(t.Left) > 0 {
		return mail.Target{Recipients: t.Left}
	}
	return mail.Target{Recipients: t.Channel.Recipients}
}

func mqttTarget(ch domain.Channel) mqtt.Target {
	return mqtt.Target{
		Scheme: ch.Scheme, Host: ch.Host, Port: ch.Port, Publisher: ch.Publisher, Topic: ch.Topic, QoS: byte(ch.QoS), Retained: ch.Retained,
		KeepAlive: time.Duration(ch.KeepAlive) * time.Second, AuthMode: ch.AuthMode, SecretPath: ch.SecretPath, SkipCertVerify: ch.SkipCertVerify,
	}
}

// reservations refuse the channels of subscriptions that could never be delivered.
type reservations struct {
	*bridge.Engine
	rows map[string]kind
	// serverKey is the public key of CURVE, or empty.
	serverKey string
}

// NewChannelChecks returns the check that refuses channels that cannot be delivered to.
func (cs *Channels) NewChannelChecks() notifications.Channels {
	return reservations{cs.Engine, cs.kinds(), PublicKey(cs.curveKey)}
}

// Reserve implements notifications.Channels.
func (c reservations) Reserve(list []domain.Channel) (done func(seq uint64), err error) {
	for i, ch := range list {
		check := c.rows[ch.Type].check
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
