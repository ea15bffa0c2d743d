package domain

import (
	"fmt"
	"testing"
)

// largeProfile has n resources.
func largeProfile(n int) Profile {
	p := imageProfile()
	for i := range n {
		r := pan()
		r.Name, r.Attributes = fmt.Sprint("register-", i), map[string]any{"register": float64(i)}
		p.DeviceResources = append(p.DeviceResources, r)
	}
	return p
}

// What changes nothing costs no look at the rest of the profile: one request may ask for it ten thousand times.
func TestNoChangeOfALargeProfileIsCheap(t *testing.T) {
	s := given(ProfileAdded{Profile: largeProfile(2000)})
	for name, c := range map[string]Command{
		"resource": UpdateDeviceResource{"image", ResourcePatch{Name: new("register-7"), IsHidden: new(false)}, later},
		"command":  UpdateDeviceCommand{"image", CommandPatch{Name: new("adjust")}, later},
		"info":     UpdateProfileInfo{PatchOf[Profile]("name", "image", "model", ""), later},
	} {
		got := testing.AllocsPerRun(10, func() {
			if e, err := c.Decide(s); e != nil || err != nil {
				t.Fatal(e, err)
			}
		})
		if got > 200 {
			t.Errorf("%s: %.0f allocations, want a few", name, got)
		}
	}
}
