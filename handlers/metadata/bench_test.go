package metadata

import (
	"strconv"
	"testing"

	"ledge/handlers/handlerstest"
)

func BenchmarkAddDevices(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			h, _ := mustMetadata(b)
			var devices []string
			for i := range n {
				devices = append(devices, device("name", `"d-`+strconv.Itoa(i)+`"`, "serviceName", `"nosuch"`))
			}
			body := batch("device", devices...)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				handlerstest.Serve(h, "POST", "/api/v2/device", body)
			}
		})
	}
}

func BenchmarkGetDevice(b *testing.B) {
	h, _ := mustMetadata(b)
	b.ReportAllocs()
	for b.Loop() {
		if w := handlerstest.Serve(h, "GET", "/api/v2/device/name/cam-1", ""); w.Code != 200 {
			b.Fatal(w.Code)
		}
	}
}

func BenchmarkUpdateDevices(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			h, _ := mustMetadata(b)
			var bodies [2]string
			for i, state := range []string{"LOCKED", "UNLOCKED"} {
				var devices []string
				for j := range n {
					devices = append(devices, `{"name":"cam-1","adminState":"`+state+`","description":"the door `+strconv.Itoa(j)+`"}`)
				}
				bodies[i] = batch("device", devices...)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				handlerstest.Serve(h, "PATCH", "/api/v2/device", bodies[i%2])
			}
		})
	}
}
