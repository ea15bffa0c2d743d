package main

import (
	"ledge/bridge/mail"
	"ledge/bridge/mqtt"
	"ledge/bridge/outward"
	"ledge/bridge/rest"
	"ledge/domain"
)

// channelSenders are those beside ZeroMQ. All connect through the guard, and a try takes them the setting delivery-timeout at
// most.
type channelSenders struct {
	rest *rest.Sender
	mqtt *mqtt.Sender
	mail *mail.Sender
}

// newSenders returns them without connections; the error names the setting that is wrong.
func (p *Program) newSenders() (s channelSenders, err error) {
	c, dial, secrets := p.Config, outward.Dial(p.guard.DialContext), p.secrets.Of(notificationsService, p.Config.permittedUses())
	m := c.mail()
	m.Dial, m.Secrets, m.Now, m.Roots = dial, channelSecrets{secrets, domain.ChannelEmail}, p.Now, p.roots
	if s.mail, err = mail.New(m); err != nil {
		return s, err
	}
	s.rest = rest.New(rest.Options{Dial: dial, Timeout: c.DeliveryTimeout, Roots: p.roots, Shows: p.guard.ShowsAnswer, Self: p.instance, Now: p.Now})
	s.mqtt = mqtt.New(mqtt.Options{
		Dial: dial, Secrets: channelSecrets{secrets, domain.ChannelMQTT}, Roots: p.roots, Timeout: c.DeliveryTimeout, Logger: p.Logger,
	})
	return s, nil
}

// mail returns what the settings say of the mail server.
func (c *Config) mail() mail.Options {
	return mail.Options{
		Host: c.SMTPHost, Port: c.SMTPPort, Sender: c.SMTPSender, Subject: c.SMTPSubject, TLS: c.SMTPTLS,
		SkipVerify: c.SMTPSkipVerify, SecretPath: c.SMTPSecretPath, Timeout: c.DeliveryTimeout,
	}
}

func (s channelSenders) close() {
	s.rest.Close()
	s.mqtt.Close()
}
