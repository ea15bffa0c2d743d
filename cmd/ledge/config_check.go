package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"time"

	"ledge/domain"
	"ledge/handlers"
)

// mostInlineBytes is the longest value that fits into a message of the log.
const mostInlineBytes = 8 << 20

// check refuses values that no service could start with.
func (c *Config) check() error {
	var errs []error
	bad := func(name string, value any, cure string) {
		errs = append(errs, fmt.Errorf("setting %s: %v: %s", name, value, cure))
	}
	for _, one := range services {
		if _, port := c.listenAt(one); port < 0 || port > 65535 {
			bad(one.setting+"-port", port, "use a TCP port from 0 to 65535")
		}
	}
	if c.TapPort < -1 || c.TapPort > 65535 {
		bad("tap-port", c.TapPort, "use a TCP port from 0 to 65535, or -1")
	}
	for _, bound := range c.bindSettings() {
		name, host := bound[0], bound[1]
		if host == "" {
			bad(name, `""`, "give an address, such as 127.0.0.1, or 0.0.0.0 for all of this machine, which needs allow-insecure")
		}
	}
	c.checkSecure(bad)
	if c.LogFormat != "auto" && c.LogFormat != "text" && c.LogFormat != "json" {
		bad("log-format", c.LogFormat, "use auto, text or json")
	}
	if err := new(slog.Level).UnmarshalText([]byte(c.LogLevel)); err != nil {
		bad("log-level", c.LogLevel, "use debug, info, warn or error")
	}
	if c.ResendLimit < 0 || c.ResendLimit >= domain.MaxTries {
		bad("resend-limit", c.ResendLimit, fmt.Sprintf("use a number from 0 to %d", domain.MaxTries-1))
	}
	for name, d := range map[string]time.Duration{
		"resend-interval": c.ResendInterval, "notifications-max-age": c.NotificationsMaxAge, "readings-max-age": c.ReadingsMaxAge,
	} {
		if d < 0 {
			bad(name, d, "use a time of 0 or more, such as 5s")
		}
	}
	for name, n := range map[string]size{"disk-reserve": c.DiskReserve, "disk-readings-reserve": c.DiskReadingsReserve} {
		if n == 0 {
			bad(name, n, "use 1 or more: without a reserve a full disk would be met in the middle of a write")
		}
	}
	if c.EventsMaxBytes > 0 && c.EventsMaxBytes < leastEvents {
		bad("events-max-bytes", &c.EventsMaxBytes, "use 0, or 16MiB or more: the log is archived in files of 8 MiB")
	}
	if c.EventsMaxAge != 0 && c.EventsMaxAge < time.Hour {
		bad("events-max-age", c.EventsMaxAge, "use 0, or 1h or more")
	}
	for name, n := range map[string]size{
		"limit-json-bytes": c.LimitJSONBytes, "limit-profile-bytes": c.LimitProfileBytes, "limit-resource-bytes": c.LimitResourceBytes,
		"limit-inline-bytes": c.LimitInlineBytes,
		"limit-event-bytes":  c.LimitEventBytes,
	} {
		if n == 0 {
			bad(name, n, "use 1 or more: nothing would be let in")
		}
	}
	for name, d := range map[string]time.Duration{
		"limit-read-time": c.LimitReadTime, "limit-write-time": c.LimitWriteTime,
		"delivery-timeout": c.DeliveryTimeout,

		"delivery-give-up": c.DeliveryGiveUp,
		"console-idle":     c.ConsoleIdle,
	} {
		if d <= 0 {
			bad(name, d, "use a time above 0, such as 30s")
		}
	}
	if most := 1 << 16; c.MaxResultCount < 1 || c.MaxResultCount > most {
		bad("max-result-count", c.MaxResultCount, fmt.Sprintf("use a number from 1 to %d", most))
	}
	if c.IdempotencyKeep < time.Millisecond {
		bad("idempotency-keep", c.IdempotencyKeep, "use a time of 1ms or more, such as 24h")
	}
	if _, err := netip.ParseAddrPort(c.NameServer); err != nil && c.NameServer != "" {
		bad("name-server", c.NameServer, "use an address and a port, such as 192.168.1.1:53 or [2001:db8::1]:53")
	}
	if err := c.mail().Check(); err != nil {
		errs = append(errs, err)
	}
	if c.LimitBodyMemory < handlers.LeastBodyMemory {
		bad("limit-body-memory", c.LimitBodyMemory, "use 16KiB or more: the smallest value that is posted takes that much")
	}
	if c.LimitInlineBytes > mostInlineBytes {
		bad("limit-inline-bytes", c.LimitInlineBytes, "use at most 8MiB")
	}
	c.checkJWT(bad)
	slices.SortStableFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) }) // each begins with its setting's name
	return errors.Join(errs...)
}
