package channels

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ledge/bridge"
	"ledge/bridge/delivery"
	"ledge/bridge/guard"
	"ledge/bridge/mail"
	"ledge/bridge/mqtt"
	"ledge/bridge/outward"
	"ledge/bridge/rest"
	"ledge/domain"
	"ledge/handlers/notifications"
)

// kind is the program's part of one kind of channel, without connections.
type kind struct {
	send delivery.Sender
	// check returns the problems of a channel that could never be delivered. nil checks nothing.
	check func(domain.Channel) domain.Problems
	// close ends the connections; nil: there is nothing to end.
	close func()
}

// kinds opens each row of domain.ChannelKinds, by its type. The error names the setting that is wrong. All connect through the guard.
var kinds = map[string]func(*Channels) (kind, error){
	domain.ChannelZeroMQ: func(cs *Channels) (kind, error) {
		return kind{send: func(ctx context.Context, t domain.Transmission, n domain.Notification) (string, error) {
			return cs.Engine.Send(ctx, t, n)
		}}, nil
	},
	domain.ChannelREST: func(cs *Channels) (kind, error) {
		sender := rest.New(rest.Options{Dial: cs.Guard.DialContext, Shows: cs.Guard.ShowsAnswer, Self: cs.Instance})
		send := func(ctx context.Context, t domain.Transmission, m outward.Message) (string, error) {
			ch := t.Channel
			return sender.Send(ctx, rest.Target{Scheme: ch.Scheme, Host: ch.Host, Port: ch.Port, Path: ch.Path, Method: ch.HTTPMethod}, m)
		}
		return kind{sendMessage(send), checkDestination(cs.Guard), sender.Close}, nil
	},
	domain.ChannelMQTT: func(cs *Channels) (kind, error) {
		sender := mqtt.New(mqtt.Options{Dial: cs.Guard.DialContext, Secrets: cs.secretsOf(domain.ChannelMQTT), Logger: cs.Logger})
		send := func(ctx context.Context, t domain.Transmission, m outward.Message) (string, error) {
			return sender.Send(ctx, mqttTarget(t.Channel), m)
		}
		check := func(ch domain.Channel) domain.Problems {
			p := checkDestination(cs.Guard)(ch)
			if len(p) == 0 {
				if err := sender.CheckSecret(mqttTarget(ch)); err != nil {
					p.Add("secretPath", "%v", err)
				}
			}
			return p
		}
		return kind{sendMessage(send), check, sender.Close}, nil
	},
	domain.ChannelEmail: func(cs *Channels) (kind, error) {
		server, err := mail.ParseServer(cs.SMTPServer)
		if err != nil {
			return kind{}, err
		}
		sender := mail.New(mail.Options{Dial: cs.Guard.DialContext, Server: server, Secrets: cs.secretsOf(domain.ChannelEmail), Now: cs.Now})
		send := func(ctx context.Context, t domain.Transmission, m outward.Message) (string, error) {
			if len(t.Left) > 0 { // the others have it
				return sender.Send(ctx, mail.Target{Recipients: t.Left}, m)
			}
			return sender.Send(ctx, mail.Target{Recipients: t.Channel.Recipients}, m)
		}
		check := func(domain.Channel) (p domain.Problems) {
			if cs.SMTPServer == "" {
				p.Add("type", "EMAIL cannot be delivered, because there is no mail server; name one in the setting smtp-server")
			}
			return p
		}
		return kind{send: sendMessage(send), check: check}, nil
	},
}

// openKinds opens all kinds.
func (cs *Channels) openKinds() error {
	cs.senders, cs.checks = map[string]delivery.Sender{}, map[string]func(domain.Channel) domain.Problems{}
	for name, open := range kinds {
		k, err := open(cs)
		if err != nil {
			return err
		}
		cs.senders[name], cs.checks[name] = k.send, k.check
		if k.close != nil {
			cs.onClose(k.close)
		}
	}
	return nil
}

// checkDestination returns the check that refuses an address as the guard does.
func checkDestination(g *guard.Guard) func(domain.Channel) domain.Problems {
	return func(ch domain.Channel) (p domain.Problems) {
		err := g.Destination(ch.Host, ch.Port)
		if r, ok := errors.AsType[*guard.Refused](err); ok {
			p.Add(r.Field, "%s", r.Message)
		} else if err != nil {
			p.Add("host", "%v", err)
		}
		return p
	}
}

// sendMessage returns the sender that makes a message of a notification.
func sendMessage(send func(context.Context, domain.Transmission, outward.Message) (string, error)) delivery.Sender {
	return func(ctx context.Context, t domain.Transmission, n domain.Notification) (string, error) {
		id, hops := domain.CutHops(t.CorrelationID)
		return send(ctx, t, outward.Message{
			ID: t.ID, NotificationID: n.ID, At: time.UnixMilli(n.Created), Sequence: t.Sequence, Sender: n.Sender,
			ContentType: n.ContentType, Body: []byte(n.Content), CorrelationID: id, Hops: hops,
		})
	}
}

func mqttTarget(ch domain.Channel) mqtt.Target {
	return mqtt.Target{
		Host: ch.Host, Port: ch.Port, TLS: ch.Secure(), Publisher: ch.Publisher, Topic: ch.Topic, QoS: byte(ch.QoS),
		Retained: ch.Retained, KeepAlive: time.Duration(ch.KeepAlive) * time.Second,
		AuthMode: ch.AuthMode, SecretPath: ch.SecretPath, SkipCertVerify: ch.SkipCertVerify,
	}
}

// reservations refuse the channels of subscriptions that could never be delivered.
type reservations struct {
	*bridge.Engine
	checks map[string]func(domain.Channel) domain.Problems
	// serverKey is the public key of CURVE, or empty.
	serverKey string
}

// NewChannelChecks returns the check that refuses channels that cannot be delivered to.
func (cs *Channels) NewChannelChecks() notifications.Channels {
	return reservations{cs.Engine, cs.checks, PublicKey(cs.curveKey)}
}

// Reserve implements notifications.Channels.
func (c reservations) Reserve(list []domain.Channel) (done func(seq uint64), err error) {
	for i, ch := range list {
		if check := c.checks[ch.Type]; check != nil {
			var p domain.Problems
			if p.In(fmt.Sprintf("channels[%d]", i), check(ch)); len(p) > 0 {
				return nil, p.Err()
			}
		}
	}
	return c.Engine.Reserve(list)
}

// ServerKey implements notifications.Channels.
func (c reservations) ServerKey() string { return c.serverKey }
