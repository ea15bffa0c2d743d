package domain

import (
	"net/url"
	"strings"
)

// ChannelREST is the Type of a channel that sends HTTP requests.
const ChannelREST = "REST"

// MaxPath bounds the length of a path in bytes.
const MaxPath = 2048

func init() {
	addChannelKind(ChannelKind{
		Type: ChannelREST, Place: 1, secure: []string{"https"}, check: Channel.checkREST,
		path: func(c Channel) string { return strings.TrimPrefix(c.Path, "/") },
		Fields: []ChannelField{
			{Name: "scheme", Label: "Scheme", Choices: []string{"http", "https"}, Default: "http"},
			{Name: "host", Label: "Host", Required: true},
			{Name: "port", Label: "Port", Required: true},
			{Name: "path", Label: "Path"},
			{Name: "httpMethod", Label: "Method", Choices: []string{"POST", "PUT", "PATCH"}, Default: "POST"},
		},
	})
}

// checkREST takes the methods that EdgeX takes, but not TRACE and CONNECT: nothing can be delivered with them.
func (c Channel) checkREST(p *Problems) {
	c.checkAddress(p, "give the receiver's address or name")
	p.checkOneOf("httpMethod", c.HTTPMethod, "POST", "PUT", "PATCH", "GET", "HEAD", "DELETE")
	if len(c.Path) > MaxPath {
		p.Add("path", "is %d bytes long; use at most %d", len(c.Path), MaxPath)
		return
	}
	c.checkHost(p)
	if _, err := url.Parse("http://host/" + strings.TrimPrefix(c.Path, "/")); err != nil {
		p.Add("path", "%s is not a path of a URL; write it as /notify, with %%20 for a space", quote(c.Path))
	}
}
