// The echo service on gRPC's C++, its callback API: `server_cpp ADDRESS`.
#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>

#include "echo.grpc.pb.h"

namespace {

// `payload`, `count` times.
class Repeating final : public grpc::ServerWriteReactor<echo::Msg> {
  public:
    explicit Repeating(const echo::StreamReq &wish) : left_(wish.count()) {
        message_.set_payload(wish.payload());
        next();
    }
    void OnWriteDone(bool ok) override {
        if (ok)
            next();
        else
            Finish(grpc::Status::CANCELLED);
    }
    void OnDone() override { delete this; }

  private:
    void next() {
        if (left_ == 0) return Finish(grpc::Status::OK);
        --left_;
        StartWrite(&message_);
    }
    std::uint32_t left_;
    echo::Msg message_;
};

// How many came, and their octets.
class Summing final : public grpc::ServerReadReactor<echo::Msg> {
  public:
    explicit Summing(echo::Sum *sum) : sum_(sum) { StartRead(&message_); }
    void OnReadDone(bool ok) override {
        if (!ok) return Finish(grpc::Status::OK);
        sum_->set_messages(sum_->messages() + 1);
        sum_->set_bytes(sum_->bytes() + message_.payload().size());
        StartRead(&message_);
    }
    void OnDone() override { delete this; }

  private:
    echo::Sum *sum_;
    echo::Msg message_;
};

// Every message comes back.
class Echoing final : public grpc::ServerBidiReactor<echo::Msg, echo::Msg> {
  public:
    Echoing() { StartRead(&message_); }
    void OnReadDone(bool ok) override {
        if (ok)
            StartWrite(&message_);
        else
            Finish(grpc::Status::OK);
    }
    void OnWriteDone(bool ok) override {
        if (ok)
            StartRead(&message_);
        else
            Finish(grpc::Status::CANCELLED);
    }
    void OnDone() override { delete this; }

  private:
    echo::Msg message_;
};

class Service final : public echo::Echo::CallbackService {
    grpc::ServerUnaryReactor *Unary(grpc::CallbackServerContext *context, const echo::Msg *message, echo::Msg *answer) override {
        answer->set_payload(message->payload());
        auto *reactor = context->DefaultReactor();
        reactor->Finish(grpc::Status::OK);
        return reactor;
    }
    grpc::ServerWriteReactor<echo::Msg> *ServerStream(grpc::CallbackServerContext *, const echo::StreamReq *wish) override {
        return new Repeating(*wish);
    }
    grpc::ServerReadReactor<echo::Msg> *ClientStream(grpc::CallbackServerContext *, echo::Sum *sum) override { return new Summing(sum); }
    grpc::ServerBidiReactor<echo::Msg, echo::Msg> *Bidi(grpc::CallbackServerContext *) override { return new Echoing(); }
};

}  // namespace

int main(int count, char **words) {
    if (count != 2) return 2;
    Service service;
    grpc::ServerBuilder builder;
    builder.AddListeningPort(words[1], grpc::InsecureServerCredentials());
    builder.RegisterService(&service);
    std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
    if (!server) return 1;
    server->Wait();
}
