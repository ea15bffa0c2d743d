package main

import (
	"ledge/bridge/mail"
	"ledge/bridge/mqtt"
	"ledge/bridge/outward"
	"ledge/bridge/rest"
	"ledge/cmd/internal/services"
	"ledge/domain"
)

// channelSenders are those beside ZeroMQ. All connect through the guard.
type channelSenders struct {
	rest *rest.Sender
	mqtt *mqtt.Sender
	mail *mail.Sender
}

// newSenders returns them without connections; the error names the setting that is wrong.
func (p *Program) newSenders() (s channelSenders, err error) {
	c, dial, secrets := p.Config, outward.Dial(p.guard.DialContext), p.secrets.Of(services.Notifications, permittedUses(p.Config.SMTPServer))
	server, err := mail.ParseServer(c.SMTPServer)
	if err != nil {
		return s, err
	}
	s.mail, err = mail.New(mail.Options{Dial: dial, Server: server, Sender: c.SMTPSender, Secrets: channelSecrets{secrets, domain.ChannelEmail}, Now: p.Now})
	if err != nil {
		return s, err
	}
	s.rest = rest.New(rest.Options{Dial: dial, Shows: p.guard.ShowsAnswer, Self: p.instance})
	s.mqtt = mqtt.New(mqtt.Options{Dial: dial, Secrets: channelSecrets{secrets, domain.ChannelMQTT}, Logger: p.Logger})
	return s, nil
}

func (s channelSenders) close() {
	s.rest.Close()
	s.mqtt.Close()
}
