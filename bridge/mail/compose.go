package mail

import (
	"fmt"
	"mime"
	"net/mail"
	"strings"

	gomail "github.com/wneessen/go-mail"

	"ledge/bridge/outward"
)

// Target is who gets a message.
type Target struct {
	Recipients []string // addresses; every SMTP server takes 100 (RFC 5321, 4.5.3.1.8)
}

// compose makes the message; its errors name the fields of a channel or of a notification.
func (s *Sender) compose(t Target, m outward.Message) (*gomail.Msg, error) {
	var to []*mail.Address
	for i, r := range t.Recipients {
		address, err := mail.ParseAddress(r)
		if err != nil {
			return nil, fmt.Errorf("recipients[%d]: %.80q is not an address; write it as name@example.org", i, r)
		}
		to = append(to, address)
	}
	media, err := mediaType(m.ContentType)
	if err != nil {
		return nil, err
	}
	from := s.o.Server.from
	if m.Sender != "" {
		from.Name = m.Sender
	}
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	msg.FromMailAddress(&from)
	msg.ToMailAddress(to...)
	subject, media, text := describeMessage(m, media)
	msg.Subject(subject)
	msg.SetDateWithValue(s.o.Now().UTC())
	msg.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: nobody answers this automatically
	if _, domain, ok := strings.Cut(from.Address, "@"); ok && isAtom(m.ID) {
		msg.SetMessageIDWithValue(m.ID + "@" + domain)
	}
	if m.CorrelationID != "" {
		msg.SetGenHeader("X-Correlation-ID", m.CorrelationID)
	}
	msg.SetBodyString(gomail.ContentType(media), text)
	return msg, nil
}

// mediaType is what the body is called: without parameters, since it is always sent as UTF-8.
func mediaType(contentType string) (string, error) {
	if contentType == "" {
		return "text/plain", nil
	}
	media, _, err := mime.ParseMediaType(contentType)
	kind, _, ok := strings.Cut(media, "/")
	if err != nil || !ok || kind == "multipart" || kind == "message" {
		return "", fmt.Errorf("contentType: %.80q is not a media type of one text; use one such as text/plain", contentType)
	}
	return media, nil
}

// isAtom reports whether an id can stand in a Message-ID as it is.
func isAtom(id string) bool {
	return id != "" && !strings.ContainsFunc(id, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r != '-'
	})
}
