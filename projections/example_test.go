package projections_test

import (
	"fmt"
	"os"
	"path/filepath"

	"ledge/domain"
	"ledge/projections"
)

func Example() {
	dir, err := os.MkdirTemp("", "projections")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	db, err := projections.Open(projections.Options{Path: filepath.Join(dir, "state.db"), Tables: projections.Events})
	if err != nil {
		panic(err)
	}
	defer db.Close()

	// What the log has recorded is applied, in its order.
	err = db.Apply([]domain.Recorded{
		{Seq: 1, Event: domain.DeviceAdded{Device: domain.Device{Name: "cam-1", Labels: []string{"gate"}, Modified: 1}}},
		{Seq: 2, Event: domain.DeviceAdded{Device: domain.Device{Name: "cam-2", Labels: []string{"gate"}, Modified: 2}}},
		{Seq: 3, Event: domain.DeviceAdded{Device: domain.Device{Name: "till-1", Modified: 3}}},
	})
	if err != nil {
		panic(err)
	}

	view, release := db.View()
	defer release()
	list, total, err := view.Devices(projections.Page{Offset: 0, Limit: 1}, projections.Label("gate"))
	fmt.Println(list[0].Name, total, err)
	// Output: cam-2 2 <nil>
}
