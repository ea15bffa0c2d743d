package zeromq_test

import (
	"fmt"
	"log/slog"
	"time"

	"ledge/bridge/zeromq"
)

func Example() {
	sockets := zeromq.NewSockets(zeromq.Options{Logger: slog.New(slog.DiscardHandler)})
	defer sockets.Close(time.Second)

	camera := zeromq.Channel{Host: "localhost"}
	if err := sockets.Acquire(camera); err != nil {
		fmt.Println(err)
		return
	}
	defer sockets.Release(camera)

	subscribers, err := sockets.Publish(camera, "camera/1", "{}")
	fmt.Println(subscribers, err)

	_, err = sockets.Publish(zeromq.Channel{Host: "localhost", Port: 5563}, "camera/1", "{}")
	fmt.Println(err)
	// Output:
	// 0 <nil>
	// zeromq: socket is not bound: host "localhost", port 5563
}
