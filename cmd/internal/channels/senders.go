package channels

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
func (cs *Channels) newSenders() (s channelSenders, err error) {
	dial, secrets := outward.Dial(cs.Guard.DialContext), cs.Secrets.Of(services.Notifications, permittedUses(cs.SMTPServer))
	server, err := mail.ParseServer(cs.SMTPServer)
	if err != nil {
		return s, err
	}
	s.mail, err = mail.New(mail.Options{Dial: dial, Server: server, Sender: cs.SMTPSender, Secrets: channelSecrets{secrets, domain.ChannelEmail}, Now: cs.Now})
	if err != nil {
		return s, err
	}
	s.rest = rest.New(rest.Options{Dial: dial, Shows: cs.Guard.ShowsAnswer, Self: cs.Instance})
	s.mqtt = mqtt.New(mqtt.Options{Dial: dial, Secrets: channelSecrets{secrets, domain.ChannelMQTT}, Logger: cs.Logger})
	return s, nil
}

func (s channelSenders) close() {
	s.rest.Close()
	s.mqtt.Close()
}
