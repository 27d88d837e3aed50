// grpc-go for `interop/hostile`: makes the calls that the standard input asks for. What is spoken is said in src/hostile/client.rs.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/encoding/gzip" // so that it meets the bomb
	"google.golang.org/grpc/status"
)

const service = "/pintle.interop.Interop/"

// raw is a codec that leaves messages as they are.
type raw struct{}

func (raw) Name() string { return "raw" }

func (raw) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }

func (raw) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = append([]byte(nil), data...)
	return nil
}

// call makes one call and reads all of its answer.
func call(conn *grpc.ClientConn, shape string, limit time.Duration, octets int, options ...grpc.CallOption) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	message, reply := make([]byte, octets), []byte(nil)
	switch shape {
	case "unary":
		return conn.Invoke(ctx, service+"Echo", &message, &reply, options...)
	case "streaming":
		stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, service+"Expand", options...)
		if err != nil {
			return err
		}
		if err := stream.SendMsg(&message); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if err := stream.CloseSend(); err != nil {
			return err
		}
		return drain(stream)
	default:
		stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, service+"Chat", options...)
		if err != nil {
			return err
		}
		// It is the server that ends this call; why a message cannot be sent is said by the other direction.
		if err := stream.SendMsg(&message); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		return drain(stream)
	}
}

func drain(stream grpc.ClientStream) error {
	for {
		var reply []byte
		if err := stream.RecvMsg(&reply); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func again(conn *grpc.ClientConn) (err error) {
	for range 10 {
		if err = call(conn, "unary", 3*time.Second, 0, grpc.WaitForReady(true)); err == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return err
}

func connect(address string) (*grpc.ClientConn, error) {
	quick := backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1, MaxDelay: 200 * time.Millisecond}
	return grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: quick, MinConnectTimeout: 5 * time.Second}),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(raw{})))
}

func tell(err error) {
	if err == nil {
		fmt.Print("0\t\n")
		return
	}
	status := status.Convert(err)
	text := strconv.Quote(status.Message())
	fmt.Printf("%d\t%s\n", status.Code(), text[1:len(text)-1])
}

func main() {
	var conn *grpc.ClientConn
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		words := strings.Fields(lines.Text())
		switch words[0] {
		case "connect":
			if conn != nil {
				conn.Close()
			}
			var err error
			if conn, err = connect(words[1]); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			fmt.Println("connected")
		case "call":
			millis, _ := strconv.Atoi(words[2])
			octets, _ := strconv.Atoi(words[3])
			tell(call(conn, words[1], time.Duration(millis)*time.Millisecond, octets))
		case "again":
			tell(again(conn))
		}
	}
}
