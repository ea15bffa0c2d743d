package channels

import (
	"ledge/bridge/mail"
	"ledge/bridge/outward"
	"ledge/cmd/internal/services"
	"ledge/domain"
	"ledge/store/secrets"
)

// channelSecrets are the secrets as one kind of channel uses them.
type channelSecrets struct {
	secrets.Secrets
	channel string
}

// secretsOf returns the secrets as a kind of channel uses them.
func (cs *Channels) secretsOf(channel string) channelSecrets {
	return channelSecrets{cs.Secrets.Of(services.Notifications, permittedUses(cs.SMTPServer)), channel}
}

// Use implements outward.Secrets.
func (s channelSecrets) Use(path string, u outward.Use) (map[string]string, error) {
	data, err := s.Secrets.Use(path, domain.SecretUse{Channel: s.channel, Host: u.Host, Port: u.Port, AllowInsecure: u.Insecure})
	if domain.CodeOf(err) == domain.NotFound {
		err = missing{err}
	}
	return data, err
}

// missing is an outward.ErrNoSecret in the words of the store.
type missing struct{ error }

func (missing) Is(target error) bool { return target == outward.ErrNoSecret }

// permittedUses is the use of a secret of the notifications service that a setting allows: the login of the mail server.
func permittedUses(smtpServer string) secrets.Permitted {
	server, err := mail.ParseServer(smtpServer)
	if err != nil || !server.LogsIn() {
		return nil
	}
	return secrets.Permitted{mail.SecretPath: {{Channel: domain.ChannelEmail, Host: server.Host, Port: server.Port}}}
}
