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

	if err := sockets.Acquire("localhost", 0); err != nil {
		fmt.Println(err)
		return
	}
	defer sockets.Release("localhost", 0)

	subscribers, err := sockets.Publish("localhost", 0, "camera/1", "{}")
	fmt.Println(subscribers, err)

	_, err = sockets.Publish("localhost", 5563, "camera/1", "{}")
	fmt.Println(err)
	// Output:
	// 0 <nil>
	// zeromq: socket is not bound: host "localhost", port 5563
}
