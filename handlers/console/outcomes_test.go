package console

import (
	"testing"

	"ledge/domain"
)

func TestOutcomes(t *testing.T) {
	sent := func(at int64, path, status string, tries ...string) domain.Transmission {
		one := domain.Transmission{Created: at, Status: status, Channel: domain.Channel{Type: domain.ChannelREST, Host: "h", Port: 1, Path: path}}
		for i, try := range tries {
			one.Records = append(one.Records, domain.TransmissionRecord{Status: try, Response: path + " " + try, Sent: at + int64(i)})
		}
		return one
	}
	const bad, ok, open = domain.StatusFailed, domain.StatusAcknowledged, domain.StatusResending
	for want, latest := range map[string][]domain.Transmission{
		"": {sent(5, "/a", bad, bad), sent(20, "/a", open)}, // since the subscription was changed last
		"The last message failed; given up: /a FAILED": {sent(12, "/a", bad, bad), sent(11, "/a", ok, ok)},
		"The last 2 messages failed; 1 given up: /a FAILED": {
			sent(14, "/a", open, bad), sent(13, "/a", bad, bad), sent(11, "/a", ok, ok), sent(19, "/b", ok, ok),
		},
		"The last message failed; tried again later: /a FAILED": {sent(14, "/a", open, bad)},
		"The last 2 messages were sent: /a ACKNOWLEDGED":        {sent(12, "/a", ok, ok), sent(11, "/a", ok, bad, bad, bad, ok)},
	} {
		o := outcomes(domain.Subscription{Modified: 10}, latest, domain.Operator)[sent(0, "/a", "").Channel.Target()]
		got := o.Words
		if o.Failed > 0 {
			got += "; " + o.End
		}
		if o.Why != "" {
			got += ": " + o.Why
		}
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
