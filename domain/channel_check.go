package domain

import (
	"net/url"
	"strconv"
	"strings"
)

// Check notes what is wrong with a channel.
func (c Channel) Check() Problems {
	var p Problems
	p.checkOneOf("type", c.Type, ChannelTypes()...)
	k, ok := c.Kind()
	if !ok {
		return p
	}
	k.check(c, &p)
	if f, ok := k.Field("scheme"); ok && c.Scheme != "" {
		p.checkOneOf("scheme", c.Scheme, f.Choices...)
	}
	return p
}

// checkAddress says how to give a host where there is none.
func (c Channel) checkAddress(p *Problems, cure string) {
	if c.Host == "" {
		p.Add("host", "is missing or empty; %s", cure)
	}
	p.checkLength("host", c.Host)
	if c.Port < 1 || c.Port > 65535 {
		p.Add("port", "%d is no TCP port; use 1 to 65535", c.Port)
	}
}

func (c Channel) checkTopic(p *Problems, cure string) {
	if c.Topic == "" {
		p.Add("topic", "is missing or empty; %s", cure)
	}
	p.checkLength("topic", c.Topic)
}

// checkHost holds that the host stays the host in a URL.
func (c Channel) checkHost(p *Problems) {
	host := c.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	u, err := url.Parse("http://" + host + ":" + strconv.Itoa(max(c.Port, 0)) + "/")
	if c.Host != "" && (err != nil || u.Hostname() != c.Host || u.User != nil) {
		p.Add("host", "%s is no address or name of a host; write it without a scheme, a port or a path", quote(c.Host))
	}
}
