package main

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"ledge/bridge/outward"
	"ledge/domain"
	"ledge/store/secrets"
)

// secretUses are uses of secrets that the operator allows, in text with commas between them: broker=MQTT:broker.example:8883, with :insecure
// behind it where the login may go out without verified TLS. It is a pflag.Value.
type secretUses struct{ list []secretUse }

type secretUse struct {
	text, path string
	use        domain.SecretUse
}

const insecure = ":insecure"

// Set parses text.
func (s *secretUses) Set(text string) error {
	var list []secretUse
	for entry := range strings.SplitSeq(text, ",") {
		if entry = strings.TrimSpace(entry); entry == "" {
			continue
		}
		one, err := parseSecretUse(entry)
		if err != nil {
			return err
		}
		list = append(list, one)
	}
	s.list = list
	return nil
}

func parseSecretUse(text string) (u secretUse, err error) {
	u.text = text
	if at := strings.LastIndex(text, "="); at > 0 {
		u.path, text = text[:at], text[at+1:]
	}
	text, u.use.AllowInsecure = strings.CutSuffix(text, insecure)
	channel, address, _ := strings.Cut(text, ":")
	host, port, err := net.SplitHostPort(address)
	u.use.Channel, u.use.Host = channel, host
	if err == nil {
		u.use.Port, err = strconv.Atoi(port)
	}
	if problems := u.use.Check(); err != nil || u.path == "" || len(problems) > 0 {
		return u, fmt.Errorf("%q is no use of a secret; write it as broker=MQTT:broker.example:8883, smtp=EMAIL:[2001:db8::1]:587 or, without verified TLS, broker=MQTT:127.0.0.1:1883%s", u.text, insecure)
	}
	return u, nil
}

func (s *secretUses) String() string {
	texts := make([]string, len(s.list))
	for i, one := range s.list {
		texts[i] = one.text
	}
	return strings.Join(texts, ",")
}

// Type implements pflag.Value.
func (s *secretUses) Type() string { return "uses" }

// channelSecrets are the secrets as one kind of channel uses them.
type channelSecrets struct {
	secrets.Secrets
	channel string
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

// permittedUses are the uses of the secrets of the notifications service that the settings name: those of secret-uses, and that of
// smtp-secret-path at smtp-host.
func (c *Config) permittedUses() secrets.Permitted {
	permitted := secrets.Permitted{}
	for _, one := range c.SecretUses.list {
		permitted[one.path] = append(permitted[one.path], one.use)
	}
	if c.SMTPHost != "" && c.SMTPSecretPath != "" {
		use := domain.SecretUse{Channel: domain.ChannelEmail, Host: c.SMTPHost, Port: c.SMTPPort}
		permitted[c.SMTPSecretPath] = append(permitted[c.SMTPSecretPath], use)
	}
	return permitted
}
