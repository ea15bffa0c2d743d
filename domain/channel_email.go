package domain

import (
	"net/mail"
	"strings"
)

// ChannelEmail is the Type of a channel that sends e-mail.
const ChannelEmail = "EMAIL"

// MaxRecipients bounds the recipients of one channel.
const MaxRecipients = 64

func init() {
	addChannelKind(ChannelKind{
		Type: ChannelEmail, Place: 2, UsesSecret: true, check: Channel.checkEmail, personal: true,
		path:   func(c Channel) string { return strings.Join(c.Recipients[:min(len(c.Recipients), 1)], "") },
		Fields: []ChannelField{{Name: "recipients", Label: "Recipients", Required: true, Hint: "Separate e-mail addresses by commas."}},
	})
}

func (c Channel) checkEmail(p *Problems) {
	if len(c.Recipients) == 0 {
		p.Add("recipients", "is missing or empty; give at least one address")
	}
	if n := len(c.Recipients); n > MaxRecipients {
		p.Add("recipients", "has %d entries; use at most %d, and another channel for more", n, MaxRecipients)
		return
	}
	checkIndexed(p, "recipients", c.Recipients, func(p *Problems, path, v string) {
		if a, err := mail.ParseAddress(v); err != nil || a.Address != v {
			p.Add(path, "%s is not an e-mail address; write it as name@example.com", quote(v))
		}
		p.checkLength(path, v)
	})
}
