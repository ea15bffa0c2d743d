package domain

import (
	"net/url"
	"reflect"
	"strconv"
	"strings"
)

// Channel is one way to a receiver. The fields that a Type does not use are empty: see [Channel.Trim]. The names are
// those of an Address in EdgeX 2.3, and for Scheme and the last three those of EdgeX 4.
type Channel struct {
	Type string `json:"type"`
	// Scheme is, for REST, http or https, and for MQTT that of the broker's URL; empty stands for http and tcp.
	Scheme string `json:"scheme,omitempty"`
	// Host is, for ZeroMQ, where the PUB socket is bound: "*", an address, a name or a network interface. For REST and
	// MQTT it is where the receiver or the broker is.
	Host string `json:"host,omitempty"`
	Port int    `json:"port,omitempty"`

	// Path is that of a REST channel's URL, with a query or without.
	Path       string `json:"path,omitempty"`
	HTTPMethod string `json:"httpMethod,omitempty"`

	// Topic is the first frame of every message on a ZeroMQ channel, or the topic of an MQTT one.
	Topic string `json:"topic,omitempty"`
	// Publisher is the client id at an MQTT broker.
	Publisher string `json:"publisher,omitempty"`
	QoS       int    `json:"qos,omitempty"`
	// KeepAlive and ConnectTimeout are in seconds; 0 stands for the client's own.
	KeepAlive      int  `json:"keepAlive,omitempty"`
	Retained       bool `json:"retained,omitempty"`
	AutoReconnect  bool `json:"autoReconnect,omitempty"`
	ConnectTimeout int  `json:"connectTimeout,omitempty"`

	// Recipients are the addresses of an EMAIL channel.
	Recipients []string `json:"recipients,omitempty"`

	// SecretPath names the secret with which an MQTT channel logs in as AuthMode says.
	SecretPath     string `json:"secretPath,omitempty"`
	AuthMode       string `json:"authMode,omitempty"`
	SkipCertVerify bool   `json:"skipCertVerify,omitempty"`

	// Allow are the networks, such as "10.0.0.0/8", and the addresses from which peers may receive what a ZeroMQ channel
	// sends; empty stands for all.
	Allow []string `json:"allow,omitempty"`
	// ClientKeys are public keys of CURVE, in Z85. With one or more, only peers that have one of them receive what a ZeroMQ
	// channel sends, and it is encrypted.
	ClientKeys []string `json:"clientKeys,omitempty"`
}

// Equal reports whether two channels are the same.
func (c Channel) Equal(o Channel) bool { return reflect.DeepEqual(c, o) }

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
		p.Add("port", "%d is not a TCP port; use 1 to 65535", c.Port)
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
		p.Add("host", "%s is not an IP address or a host name; write it without a scheme, a port or a path", quote(c.Host))
	}
}
