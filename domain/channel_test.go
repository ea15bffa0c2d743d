package domain

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestChannels(t *testing.T) {
	tests := []struct {
		name string
		edit func(*Channel)
		says string
	}{
		{"all interfaces", func(*Channel) {}, ""},
		{"with a publisher", func(c *Channel) { c.Publisher = "ledge" }, ""},
		{"an address", func(c *Channel) { c.Host = "127.0.0.1" }, ""},
		{"lowest port", func(c *Channel) { c.Port = 1 }, ""},
		{"highest port", func(c *Channel) { c.Port = 65535 }, ""},
		{"a topic of any characters", func(c *Channel) { c.Topic = "device changed/é." }, ""},
		{"longest topic", func(c *Channel) { c.Topic = strings.Repeat("t", MaxName) }, ""},
		{"networks", func(c *Channel) { c.Allow = []string{"10.0.0.0/8", "192.168.1.7", "fd00::/8", "::1"} }, ""},
		{"most networks", func(c *Channel) { c.Allow = slices.Repeat([]string{"10.1.2.3"}, MaxAllow) }, ""},
		{"too many networks", func(c *Channel) { c.Allow = slices.Repeat([]string{"10.1.2.3"}, MaxAllow+1) }, "channels[0].allow: has 65 entries; use at most 64"},
		{"no network", func(c *Channel) { c.Allow = []string{"::1", "till"} }, `channels[0].allow[1]: "till" is neither a network nor an address; write it as 10.0.0.0/8`},
		{"an empty network", func(c *Channel) { c.Allow = []string{""} }, `channels[0].allow[0]: "" is neither`},
		{"a network with a zone", func(c *Channel) { c.Allow = []string{"fe80::1%eth0"} }, `"fe80::1%eth0" is neither`},
		{"bits behind a length", func(c *Channel) { c.Allow = []string{"10.1.2.3/8"} }, `channels[0].allow[0]: "10.1.2.3/8" has bits set behind its length; write the network as 10.0.0.0/8`},
		{"a client key", func(c *Channel) { c.ClientKeys = []string{clientKey} }, ""},
		{"a client key of any characters", func(c *Channel) { c.ClientKeys = []string{"Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"} }, ""},
		{"most client keys", func(c *Channel) { c.ClientKeys = slices.Repeat([]string{clientKey}, MaxClientKeys) }, ""},
		{"too many client keys", func(c *Channel) { c.ClientKeys = slices.Repeat([]string{clientKey}, MaxClientKeys+1) }, "channels[0].clientKeys: has 65 entries; use at most 64"},
		{"a short client key", func(c *Channel) { c.ClientKeys = []string{clientKey, clientKey[1:]} }, "channels[0].clientKeys[1]: "},
		{"a client key in hex", func(c *Channel) { c.ClientKeys = []string{strings.Repeat("0a", 32)} }, "is not a public key of CURVE; give the 40 characters"},
		{"a client key that is nobody's", func(c *Channel) { c.ClientKeys = []string{strings.Repeat("0", 40)} }, "is a key that protects nothing"},
		{"no type", func(c *Channel) { c.Type = "" }, "channels[0].type: is missing or empty; use one of REST, EMAIL, MQTT, ZeroMQ"},
		{"type in lower case", func(c *Channel) { c.Type = "zeromq" }, `channels[0].type: "zeromq" is unknown; use one of REST, EMAIL, MQTT, ZeroMQ`},
		{"no host", func(c *Channel) { c.Host = "" }, `channels[0].host: is missing or empty; give "*" for all interfaces`},
		{"no port", func(c *Channel) { c.Port = 0 }, "channels[0].port: 0 is not a TCP port; use 1 to 65535"},
		{"negative port", func(c *Channel) { c.Port = -1 }, "channels[0].port: -1 is not a TCP port; use 1 to 65535"},
		{"port too high", func(c *Channel) { c.Port = 65536 }, "channels[0].port: 65536 is not a TCP port; use 1 to 65535"},
		{"no topic", func(c *Channel) { c.Topic = "" }, "channels[0].topic: is missing or empty; give the key that subscribers filter on"},
		{"topic too long", func(c *Channel) { c.Topic = strings.Repeat("t", MaxName+1) }, "… is 257 bytes long; use at most 256"},
	}
	for _, tt := range tests {
		wantChannel(t, tt.name, with(zeroMQ(), tt.edit), tt.says)
	}
}

// clientKey is a public key of CURVE.
const clientKey = "wQmbA3Dm6zY.v@mEV+WT98:2i3u6R.3rF57PVf.m"

// wantChannel holds that a subscription with the channel is taken, or refused with a message.
func wantChannel(t *testing.T, name string, c Channel, says string) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		got, err := addGate(func(d *Subscription) { d.Channels[0] = c }).Decide(given())
		if says != "" {
			wantRefusal(t, got, err, Invalid, says)
		} else if err != nil {
			t.Error(err)
		}
	})
}

func hook() Channel {
	return Channel{Type: ChannelREST, Host: "10.0.0.7", Port: 8080, Path: "/notify", HTTPMethod: "POST"}
}

func TestRESTChannels(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(*Channel)
		says string
	}{
		{"as EdgeX has it", func(*Channel) {}, ""},
		{"over TLS", func(c *Channel) { c.Scheme = "https" }, ""},
		{"a name", func(c *Channel) { c.Host = "till.example.com" }, ""},
		{"IPv6", func(c *Channel) { c.Host = "fe80::1" }, ""},
		{"no path", func(c *Channel) { c.Path = "" }, ""},
		{"a path without a slash, with a query", func(c *Channel) { c.Path = "notify?from=ledge" }, ""},
		{"no method", func(c *Channel) { c.HTTPMethod = "" }, "channels[0].httpMethod: is missing or empty; use one of POST, PUT, PATCH"},
		{"unknown method", func(c *Channel) { c.HTTPMethod = "FETCH" }, `channels[0].httpMethod: "FETCH" is unknown; use one of POST`},
		{"method that delivers nothing", func(c *Channel) { c.HTTPMethod = "TRACE" }, `channels[0].httpMethod: "TRACE" is unknown; use one of POST`},
		{"unknown scheme", func(c *Channel) { c.Scheme = "ftp" }, `channels[0].scheme: "ftp" is unknown; use one of http, https`},
		{"no host", func(c *Channel) { c.Host = "" }, "channels[0].host: is missing or empty; give the receiver's address"},
		{"a host with a path", func(c *Channel) { c.Host = "a/b" }, `channels[0].host: "a/b" is not an IP address or a host name`},
		{"a host with a scheme", func(c *Channel) { c.Host = "ftp://a" }, `host: "ftp://a" is not an IP address or a host name`},
		{"a host with a user", func(c *Channel) { c.Host = "me@a" }, `channels[0].host: "me@a" is not an IP address or a host name`},
		{"a host with a port", func(c *Channel) { c.Host = "a:80" }, `channels[0].host: "a:80" is not an IP address or a host name`},
		{"no port", func(c *Channel) { c.Port = 0 }, "channels[0].port: 0 is not a TCP port"},
		{"a path with a line break", func(c *Channel) { c.Path = "/a\n" }, `channels[0].path: "/a\n" is not a path of a URL`},
		{"a path with a broken escape", func(c *Channel) { c.Path = "/%zz" }, `channels[0].path: "/%zz" is not a path of a URL`},
		{"a path too long", func(c *Channel) { c.Path = strings.Repeat("p", MaxPath+1) }, "channels[0].path: is 2049 bytes long; use at most 2048"},
	} {
		wantChannel(t, tt.name, with(hook(), tt.edit), tt.says)
	}
}

func TestEmailChannels(t *testing.T) {
	const form = "is not an e-mail address; write it as name@example.com"
	for _, tt := range []struct {
		name       string
		recipients []string
		says       string
	}{
		{"one", []string{"a@example.com"}, ""},
		{"two", []string{"a@example.com", "b.c+d@example.com"}, ""},
		{"none", nil, "channels[0].recipients: is missing or empty; give at least one address"},
		{"no address", []string{"a@example.com", "nope"}, `channels[0].recipients[1]: "nope" ` + form},
		{"with a name", []string{"A <a@example.com>"}, form},
		{"a header more", []string{"a@example.com\r\nBcc: b@example.com"}, form},
		{"too many", slices.Repeat([]string{"a@example.com"}, MaxRecipients+1), "channels[0].recipients: has 65 entries; use at most 64"},
	} {
		wantChannel(t, tt.name, Channel{Type: ChannelEmail, Recipients: tt.recipients}, tt.says)
	}
}

func broker() Channel {
	return Channel{Type: ChannelMQTT, Host: "broker", Port: 1883, Topic: "alarms/door", Publisher: "ledge"}
}

func TestMQTTChannels(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(*Channel)
		says string
	}{
		{"least", func(*Channel) {}, ""},
		{"most", func(c *Channel) {
			c.Scheme, c.QoS, c.KeepAlive, c.Retained, c.AutoReconnect, c.ConnectTimeout = "ssl", 2, 65535, true, true, 30
			c.AuthMode, c.SecretPath, c.SkipCertVerify = AuthCert, "mqtt", true
		}, ""},
		{"without a login", func(c *Channel) { c.AuthMode = AuthNone }, ""},
		{"no host", func(c *Channel) { c.Host = "" }, "channels[0].host: is missing or empty; give the broker's address"},
		{"no publisher", func(c *Channel) { c.Publisher = "" }, "channels[0].publisher: is missing or empty; give the client id"},
		{"no topic", func(c *Channel) { c.Topic = "" }, "channels[0].topic: is missing or empty; give the topic to publish on"},
		{"a wildcard", func(c *Channel) { c.Topic = "alarms/#" }, `channels[0].topic: "alarms/#" has a wildcard`},
		{"qos 3", func(c *Channel) { c.QoS = 3 }, "channels[0].qos: 3 is not a quality of service; use 0, 1 or 2"},
		{"negative keepAlive", func(c *Channel) { c.KeepAlive = -1 }, "channels[0].keepAlive: -1 is out of range; use 0 to 65535 seconds"},
		{"long connectTimeout", func(c *Channel) { c.ConnectTimeout = 65536 }, "channels[0].connectTimeout: 65536 is out of range"},
		{"unknown scheme", func(c *Channel) { c.Scheme = "http" }, `channels[0].scheme: "http" is unknown; use one of tcp, mqtt, ssl`},
		{"websockets", func(c *Channel) { c.Scheme = "wss" }, `channels[0].scheme: "wss" is unknown; use one of tcp, mqtt, ssl, tls, mqtts`},
		{"a certificate without TLS", func(c *Channel) { c.AuthMode, c.SecretPath = AuthCert, "mqtt" }, `channels[0].authMode: "clientcert" needs TLS; use the scheme ssl`},
		{"authorities without TLS", func(c *Channel) { c.Scheme, c.AuthMode, c.SecretPath = "tcp", AuthCACert, "mqtt" }, `channels[0].authMode: "cacert" needs TLS; use the scheme ssl`},
		{"unknown authMode", func(c *Channel) { c.AuthMode, c.SecretPath = "magic", "x" }, `channels[0].authMode: "magic" is unknown; use one of none, usernamepassword`},
		{"no secret", func(c *Channel) { c.AuthMode = AuthPassword }, `channels[0].secretPath: is missing or empty, and authMode "usernamepassword" needs a secret`},
	} {
		wantChannel(t, tt.name, with(broker(), tt.edit), tt.says)
	}
}

// What a type does not use is dropped, and what it uses is kept.
func TestTrim(t *testing.T) {
	for _, c := range goldenChannels {
		if got := c.Trim(); !reflect.DeepEqual(got, c) {
			t.Errorf("got  %#v\nwant %#v", got, c)
		}
		all := goldenChannels[1] // MQTT uses the most
		all.Type, all.Path, all.HTTPMethod, all.Recipients = c.Type, "/p", "PUT", []string{"a@example.com"}
		if got := all.Trim(); !sameFields(got, c) {
			t.Errorf("%s: got %#v, want the fields of %#v and no others", c.Type, got, c)
		}
	}
}

// A host with a scheme of its kind becomes a scheme, a host, a port and a path, if the other fields do not contradict. Check refuses the
// others, and names them as they were given.
func TestHostWithScheme(t *testing.T) {
	rest := func(scheme, host string, port int, path string) Channel {
		return Channel{Type: ChannelREST, Scheme: scheme, Host: host, Port: port, Path: path}
	}
	mqtt := func(scheme, host string, port int) Channel {
		return Channel{Type: ChannelMQTT, Scheme: scheme, Host: host, Port: port}
	}
	zeromq := Channel{Type: ChannelZeroMQ, Host: "tcp://eth0:5563"}
	for _, tt := range []struct{ given, want Channel }{
		{rest("", "http://till", 0, ""), rest("http", "till", 0, "")},
		{rest("", "https://10.0.0.7", 0, ""), rest("https", "10.0.0.7", 0, "")},
		{rest("https", "https://till", 0, ""), rest("https", "till", 0, "")},
		{rest("", "http://127.0.0.1:9/in", 0, ""), rest("http", "127.0.0.1", 9, "/in")},
		{rest("http", "http://[::1]:9/in?a=b%20c", 9, ""), rest("http", "::1", 9, "/in?a=b%20c")},
		{rest("", "http://till/in", 80, "/in"), rest("http", "till", 80, "/in")},
		{rest("", "HTTP://till:80/", 0, "/in"), rest("http", "till", 80, "/in")},
		{mqtt("", "ssl://broker:8883/", 0), mqtt("ssl", "broker", 8883)},
	} {
		if got := tt.given.Trim(); !got.Equal(tt.want) {
			t.Errorf("%+v: got %+v", tt.given, got)
		}
	}
	for _, given := range []Channel{
		rest("https", "http://till", 0, ""), rest("", "http://till:9/in", 80, ""), rest("", "http://till:9/in", 0, "/out"),
		rest("", "ftp://till", 0, ""), rest("", "http://u:p@till", 0, ""), rest("", "http://till:80x", 0, ""),
		rest("", "http://:9/in", 0, ""),
		rest("", "http://till/#in", 0, ""), rest("", "till:9", 0, ""), mqtt("", "http://broker", 0), mqtt("", "tcp://broker:1884", 1883),
		mqtt("", "tcp://broker/topic", 0), zeromq,
	} {
		got := given.Trim()
		if !got.Equal(given) {
			t.Errorf("%+v: got %+v", given, got)
		}
		says := joinProblems(got.Check())
		if got.Type != ChannelZeroMQ && !strings.Contains(says, quote(given.Host)+" is not an IP address") {
			t.Errorf("%+v: %s", given, says)
		}
	}
}

// sameFields reports whether the same fields are set.
func sameFields(a, b Channel) bool {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range x.NumField() {
		if x.Field(i).IsZero() != y.Field(i).IsZero() {
			return false
		}
	}
	return true
}
