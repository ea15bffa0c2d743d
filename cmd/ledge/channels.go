package main

import (
	"context"
	"errors"
	"time"

	"ledge/bridge"
	"ledge/bridge/delivery"
	"ledge/bridge/guard"
	"ledge/bridge/mail"
	"ledge/bridge/mqtt"
	"ledge/bridge/outward"
	"ledge/bridge/rest"
	"ledge/domain"
)

// senders are the ways to the channels, by their type.
func (p *Program) senders() map[string]delivery.Sender {
	return map[string]delivery.Sender{
		domain.ChannelZeroMQ: p.engine,
		domain.ChannelREST: delivery.SenderFunc(func(ctx context.Context, t domain.Transmission, n domain.Notification) (string, error) {
			return p.out.rest.Send(ctx, restTarget(t.Channel), messageOf(t, n))
		}),
		domain.ChannelMQTT: delivery.SenderFunc(func(ctx context.Context, t domain.Transmission, n domain.Notification) (string, error) {
			return p.out.mqtt.Send(ctx, mqttTarget(t.Channel), messageOf(t, n))
		}),
		domain.ChannelEmail: delivery.SenderFunc(func(ctx context.Context, t domain.Transmission, n domain.Notification) (string, error) {
			return p.out.mail.Send(ctx, mailTarget(t), messageOf(t, n))
		}),
	}
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

// reservations are for the channels of subscriptions: what could never be delivered is refused.
type reservations struct {
	*bridge.Engine
	guard *guard.Guard
	out   channelSenders
	mail  bool // there is a mail server
	// serverKey is the public key of CURVE, or empty.
	serverKey string
}

func (p *Program) channels() reservations {
	return reservations{p.engine, p.guard, p.out, p.Config.SMTPHost != "", serverKey(p.curveKey)}
}

// Reserve implements notifications.Channels.
func (c reservations) Reserve(list []domain.Channel) (done func(seq uint64), err error) {
	for i, ch := range list {
		if err := c.check(ch); err != nil {
			return nil, domain.Errorf(domain.Invalid, "channels[%d].%v", i, err)
		}
	}
	return c.Engine.Reserve(list)
}

// ServerKey implements notifications.Channels.
func (c reservations) ServerKey() string { return c.serverKey }

// check returns an error that begins with the name of the field that is at fault.
func (c reservations) check(ch domain.Channel) error {
	switch ch.Type {
	case domain.ChannelREST:
		return c.guard.Destination(ch.Host, ch.Port)
	case domain.ChannelMQTT:
		if err := c.guard.Destination(ch.Host, ch.Port); err != nil {
			return err
		}
		return c.out.mqtt.CheckSecret(mqttTarget(ch))
	case domain.ChannelEmail:
		if !c.mail {
			return errors.New("type: EMAIL cannot be delivered, because there is no mail server; name one in the setting smtp-host")
		}
		return c.out.mail.CheckSecret()
	}
	return nil
}
