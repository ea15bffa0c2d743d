package projections

import (
	"fmt"
	"testing"

	"ledge/domain"
)

// benchmarkAdds decides and applies groups of devices that are added to 100,000, as some clients send them, each with
// names that ascend, and with ids in the order of time.
func benchmarkAdds(b *testing.B, group int) {
	const clients = 32
	d := full(b)
	seq, _ := d.Checkpoint()
	before := []domain.Event{domain.ServiceAdded{Service: domain.DeviceService{ID: uuid("service", 1), Name: domain.DeviceREST}}}
	before = append(before, domain.ProfileAdded{Profile: domain.Profile{ID: uuid("profile", 1), Name: "profile-1"}})
	applyAll(b, d, 1, record(seq+1, before...))
	adds := make([]domain.AddDevice, b.N)
	for i := range adds {
		adds[i].Device = camera(1)
		adds[i].Device.ProtocolName = "rest"
		adds[i].Device.ID, adds[i].Device.Name = ordered(i), fmt.Sprintf("lane-%02d-%06d", i%clients, i/clients)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for len(adds) > 0 {
		n := min(group, len(adds))
		events := make([]domain.Recorded, 0, n)
		seq, _ := d.Checkpoint()
		base, release := d.State()
		var folding uint64
		state := domain.OverlayAt(base, &folding)
		for _, c := range adds[:n] {
			e, err := c.Decide(state)
			if err != nil {
				b.Fatal(err)
			}
			seq++
			folding = seq
			events = append(events, domain.Recorded{Seq: seq, Event: e})
			domain.Evolve(state, &events[len(events)-1])
		}
		release()
		if err := d.Apply(events); err != nil {
			b.Fatal(err)
		}
		adds = adds[n:]
	}
}

func BenchmarkAdds1(b *testing.B)   { benchmarkAdds(b, 1) }
func BenchmarkAdds10(b *testing.B)  { benchmarkAdds(b, 10) }
func BenchmarkAdds100(b *testing.B) { benchmarkAdds(b, 100) }
