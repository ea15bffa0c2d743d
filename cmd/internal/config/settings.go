package config

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"ledge/bridge/guard"
	"ledge/bridge/mail"
	"ledge/cmd/internal/services"
	"ledge/domain"
	"ledge/handlers/web"
)

// group begins a group of settings.
func (c *Config) group(title string) *pflag.FlagSet {
	flags := pflag.NewFlagSet(title, pflag.ContinueOnError)
	flags.SortFlags = false
	c.Groups = append(c.Groups, Group{title, flags})
	return flags
}

// settingCheck returns how to cure the value of a setting, or "" if the value is fine.
type settingCheck struct {
	name string
	cure func() string
}

func (c *Config) mustBe(name string, cure func() string) {
	c.checks = append(c.checks, settingCheck{name, cure})
}

// portVar declares a TCP port.
func (c *Config) portVar(f *pflag.FlagSet, p *int, name string, value, least int, about string) {
	f.IntVar(p, name, value, about)
	c.mustBe(name, func() string {
		switch {
		case *p >= least && *p <= 65535:
			return ""
		case least < 0:
			return "use a TCP port from 0 to 65535, or -1"
		}
		return "use a TCP port from 0 to 65535"
	})
}

// hostVar declares an address to listen on.
func (c *Config) hostVar(f *pflag.FlagSet, p *string, name, about string) {
	f.StringVar(p, name, "127.0.0.1", about)
	c.mustBe(name, func() string {
		if *p == "" {
			return "give an address, such as 127.0.0.1, or 0.0.0.0 for all of this machine, which needs allow-insecure"
		}
		return ""
	})
}

// numberVar declares a number from least to most.
func (c *Config) numberVar(f *pflag.FlagSet, p *int, name string, value, least, most int, about string) {
	f.IntVar(p, name, value, about)
	c.mustBe(name, func() string {
		if *p < least || *p > most {
			return fmt.Sprintf("use a number from %d to %d", least, most)
		}
		return ""
	})
}

// choiceVar declares a text that is one of several.
func (c *Config) choiceVar(f *pflag.FlagSet, p *string, name, value string, choices []string, about string) {
	f.StringVar(p, name, value, about)
	c.mustBe(name, func() string {
		if !slices.Contains(choices, *p) {
			last := len(choices) - 1
			return "use " + strings.Join(choices[:last], ", ") + " or " + choices[last]
		}
		return ""
	})
}

// timeVar declares a time of 0 or more.
func (c *Config) timeVar(f *pflag.FlagSet, p *time.Duration, name string, value time.Duration, about string) {
	f.Var(newDuration(p, value), name, about)
	c.mustBe(name, func() string {
		if *p < 0 {
			return "use a time of 0 or more, such as 5s"
		}
		return ""
	})
}

// Default declares every setting with its check, its default and its documentation: the one place for all three. No setting is a
// secret: GET /api/v2/config shows them.
func Default() *Config {
	c := &Config{listen: map[string]*portAddress{}}
	addDataSettings(c)
	addAddressSettings(c)
	addRetentionSettings(c)
	addSecureSettings(c)
	addDeliverySettings(c)
	addEdgeXSettings(c)
	addProgramSettings(c)
	c.declared = pflag.NewFlagSet("settings", pflag.ContinueOnError)
	for _, one := range c.Groups {
		c.declared.AddFlagSet(one.Flags)
	}
	return c
}

// Settings returns the settings with their values.
func (c *Config) Settings() *pflag.FlagSet { return c.declared }

func addDataSettings(c *Config) {
	f := c.group("Data")
	f.StringVar(&c.DataDir, "data-dir", "./data", "folder of the log and of the state that is folded from it")
	f.Var(newSize(&c.MaxBytes, 0), "max-bytes",
		"size of the data folder, at which it counts as full. Other sizes follow it if they are not set; 0 for no limit")
	c.mustBe("max-bytes", func() string { return maxBytesCure(c) })
	f.Var(newSize(&c.DiskReserve, 64<<20), "disk-reserve", "free disk space below which changes are refused with 507; below four times as much, readings are refused")
	c.mustBe("disk-reserve", func() string {
		if c.DiskReserve == 0 || c.DiskReserve > mostDiskReserve {
			return "use a size from 1 byte to 1048576GiB: without a reserve, a write would break off on a full disk"
		}
		return ""
	})
}

// leastReserves is the least max-bytes, as a multiple of disk-reserve: a quarter of it is kept free of readings.
const leastReserves = 16

func maxBytesCure(c *Config) string {
	if least := leastReserves * c.DiskReserve; c.MaxBytes > 0 && c.MaxBytes < least {
		return fmt.Sprintf("use 0, or %s or more, which is %d times disk-reserve", &least, leastReserves)
	}
	return ""
}

func addAddressSettings(c *Config) {
	f := c.group("Addresses")
	c.hostVar(f, &c.Host, "host", "address of the services and of the console")
	for _, one := range services.All {
		at := &portAddress{port: one.Port}
		about := fmt.Sprintf("TCP port of %s, also with another address than host, such as 0.0.0.0:%d; 0 takes a free one", one.About, one.Port)
		f.Var(at, one.PortSetting(), about)
		c.listen[one.Name] = at
	}
	c.hostVar(f, &c.NATSHost, "nats-host", "address of the NATS server for clients, which read everything")
	c.portVar(f, &c.NATSPort, "nats-port", 4222, -1, "TCP port of the NATS server for clients; 0 takes a free one, -1 turns it off")
	f.Var(&c.EdgeXBus, "edgex-bus",
		"comma-separated message buses for EdgeX services at nats-host: redis, mqtt, each with its port unless it is 6379 or 1883, such as redis:6380")
	c.mustBe("edgex-bus", func() string {
		if len(c.EdgeXBus) > 0 && c.NATSPort < 0 {
			return "its messages go to the NATS server: set nats-port too"
		}
		return ""
	})
	f.Var(newTexts(&c.HubURL, checkHub, ""), "hub-url", "comma-separated leafnode URLs of a NATS cluster that reads the copies, with this node's name as the user, such as tls://edge-1@hub.example:7422")
	c.mustBe("hub-url", func() string { return hubCure(c) })
	f.StringVar(&c.NodeName, "node-name", "",
		"name of this node in the console. Default: the name in hub-url, or else the name of this machine")
	c.mustBe("node-name", func() string { return nodeNameCure(c) })
	f.BoolVar(&c.AllowInsecure, "allow-insecure", false, "allow addresses beyond loopback without --secure; every machine that reaches them reads and changes everything without a login")
	c.mustBe("allow-insecure", func() string {
		if c.Secure && c.AllowInsecure {
			return "secure is set too, and needs a login at every address; leave one of them out"
		}
		return ""
	})
	f.Var(newTexts(&c.AllowHosts, web.CheckHost, edgexHosts()), "allow-hosts", "comma-separated host names that requests may name, beside those of this machine, such as *.example.org; * allows every foreign web page")
	f.Var(newTexts(&c.TrustedOrigins, web.CheckOrigin, ""), "trusted-origins", "comma-separated origins whose web pages may use the REST services, such as http://edge.example.org:4000; others, and all at the console, are refused with 403")
	f.Var(newTexts(&c.TrustedProxies, checkProxy, ""), "trusted-proxies", "comma-separated networks of reverse proxies, such as fd00::/8; the client is the last address in X-Forwarded-For outside these networks")
}

func addRetentionSettings(c *Config) {
	f := c.group("Retention")
	f.Var(newSize(&c.ReadingsMaxBytes, 10<<30), "readings-max-bytes", "size on disk, including large values, at which the oldest readings are removed; 0 for no limit")
	c.timeVar(f, &c.ReadingsMaxAge, "readings-max-age", 0, "age at which readings are removed; 0 keeps them")
	f.Var(&c.ReadingsRetention, "readings-retention", "comma-separated rules that remove readings earlier, such as camera.*.jpeg age=24h bytes=10GiB, *.*.* count=1000; the first that matches profile.device.resource applies")
	f.Var(newSize(&c.BusMaxBytes, 64<<20), "bus-max-bytes", "size of the copy of each log that NATS clients read, 1MiB or more; 0 keeps none: clients only hear live messages")
	c.mustBe("bus-max-bytes", func() string {
		if c.BusMaxBytes > 0 && c.BusMaxBytes < 1<<20 {
			return "use 1MiB or more, or 0 for no copies"
		}
		return ""
	})
	f.Var(newSize(&c.NotificationsMaxBytes, 1<<30), "notifications-max-bytes", "size at which the oldest notifications are removed; 0 for no limit")
	c.timeVar(f, &c.NotificationsMaxAge, "notifications-max-age", 0, "age since the last change at which notifications are removed; 0 keeps them")
	f.Var(newSize(&c.EventsMaxBytes, 0), "events-max-bytes", "size at which the oldest changes move from the log to an archive, in files of 8 MiB; 0 turns archives off")
	f.StringVar(&c.ArchiveDir, "archive-dir", "", "folder of the archives, whose changes stay readable and are never removed. Default: archive in the data folder")
}

func addSecureSettings(c *Config) {
	f := c.group("Secure mode and identities")
	f.BoolVar(&c.Secure, "secure", false, "accept only TLS and known identities. Services without a configured address then listen on all addresses of this machine")
	f.StringVar(&c.Loopback, "loopback", LoopbackSecure, "role of plain HTTP from 127.0.0.1 with --secure: viewer, poster, service, operator, auditor or admin; secure refuses plain HTTP")
	c.mustBe("loopback", c.loopbackCure)
	f.StringVar(&c.TLSCert, "tls-cert", "", "PEM file of the server certificate, followed by intermediate certificates. Default: a certificate of the local CA, see ledge ca")
	c.mustBe("tls-cert", func() string {
		if c.TLSCert != "" && c.TLSKey == "" {
			return "tls-key is not set; set it to the file of the key that belongs to the certificate"
		}
		return c.needsSecure(c.TLSCert)
	})
	f.StringVar(&c.TLSKey, "tls-key", "", "PEM file of the private key for tls-cert, without a password. Both files are reloaded when they change")
	c.mustBe("tls-key", func() string {
		if c.TLSKey != "" && c.TLSCert == "" {
			return "tls-cert is not set; set it to the file of the certificate that belongs to the key"
		}
		return c.needsSecure(c.TLSKey)
	})
	f.StringVar(&c.TLSClientCA, "tls-client-ca", "", "PEM file of the CA certificates that sign client certificates. A client may then use its certificate instead of a token")
	c.mustBe("tls-client-ca", func() string { return c.needsSecure(c.TLSClientCA) })
	f.StringVar(&c.JWTIssuer, "jwt-issuer", "", "URL of the identity provider whose JWTs are accepted. Its keys are found by OpenID Connect discovery. Needs jwt-audience")
	c.mustBe("jwt-issuer", func() string { return issuerCure(c) })
	f.StringVar(&c.JWTAudience, "jwt-audience", "", "audience that a JWT must have in its claim aud, such as ledge")
	c.mustBe("jwt-audience", func() string { return audienceCure(c) })
	f.StringVar(&c.JWTRoleClaim, "jwt-role-claim", "role", "claim of a JWT that names the role, as a string or a list. Dots lead into objects, such as realm_access.roles")
	c.mustBe("jwt-role-claim", func() string {
		if c.JWTRoleClaim == "" {
			return "name the claim with the role, such as role"
		}
		return ""
	})
}

func addDeliverySettings(c *Config) {
	f := c.group("Notifications and callbacks")
	f.StringVar(&c.SMTPServer, "smtp-server", "", "mail server and sender, such as smtp://mail.example.org:587?from=ledge@example.org (STARTTLS). Other schemes are smtps (TLS) and smtp+plain (neither TLS nor login)")
	c.mustBe("smtp-server", func() string {
		_, err := mail.ParseServer(c.SMTPServer)
		return textOf(err)
	})
	c.numberVar(f, &c.ResendLimit, "resend-limit", 20, 0, domain.MaxTries-1, "how often an undelivered notification is sent again, for subscriptions with neither resendLimit nor resendInterval")
	c.timeVar(f, &c.ResendInterval, "resend-interval", time.Second, "time before the first resend, for the same subscriptions; it doubles from try to try, up to 10 minutes")
	f.Var(&c.AllowDestinations, "allow-destinations", "the only hosts, networks and ports to which Ledge sends, in the form of deny-destinations, which wins. Default: all")
	c.DenyDestinations = guard.MustRules(guard.NoDestinations)
	f.Var(&c.DenyDestinations, "deny-destinations", "comma-separated hosts, networks and ports to which Ledge sends no notification, callback or command, such as 10.0.0.0/8,*.example.org:443,*:25")
	f.Var(&c.AllowBinds, "allow-binds", "hosts, networks and ports that ZeroMQ channels may bind, such as *:5560-5569. Default: ports above 1023 that Ledge does not use")
}

func addEdgeXSettings(c *Config) {
	f := c.group("EdgeX API")
	f.BoolVar(&c.PersistData, "persist-data", true, "store posted events and values, EdgeX's PersistData. With false they reach NATS clients only, those above 512 KiB without data")
	c.numberVar(f, &c.MaxResultCount, "max-result-count", 1024, 1, 1<<16, "maximum number of list entries in one answer, EdgeX's MaxResultCount. A larger limit in a query is answered 400")
	f.Var(newTexts(&c.StrictProfiles, checkStrict, ""), "strict-profiles", "comma-separated list of what is refused with 423 for device profiles: changes (replacing, removing parts), deletes. EdgeX's ProfileChange settings")
	f.StringVar(&c.Registry, "registry", "",
		"Consul that lists the services for EdgeX's services, such as consul://127.0.0.1:8500. Default: none")
	c.mustBe("registry", func() string { return registryCure(c.Registry) })
	f.BoolVar(&c.Samples, "samples", true, "add the sample profiles and devices at the first start on a data folder")
	f.StringVar(&c.DefaultProtocol, "default-protocol", "",
		"protocolName of devices of device-rest that EdgeX's clients post without one, such as rest. Default: they are refused with 400")
	c.mustBe("default-protocol", func() string { return protocolCure(c.DefaultProtocol) })
	c.choiceVar(f, &c.EdgeXVersion, "edgex-version", EdgeX2, []string{EdgeX2, EdgeX4},
		"EdgeX release in whose form events and system events are published on the message bus: 2.3, or 4 for 3.1 and 4.0")
	f.StringVar(&c.UnitsFile, "units-file", "", "TOML or YAML file of the units of measure; device resources with other units are refused with 400. Default: no check")
}

func addProgramSettings(c *Config) {
	f := c.group("Log of the program")
	c.LogLevel = logLevel{new(slog.LevelVar)}
	f.Var(c.LogLevel, "log-level", "lowest level that is logged: debug, info, warn or error. SIGHUP reloads it")
}
