import io.netty.util.HashedWheelTimer;
import io.netty.util.Timeout;
import io.netty.util.TimerTask;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Scanner;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Netty's HashedWheelTimer under the workload of the benchmark. Reads a file of numbers per round from
 * standard input and answers a line of JSON: little-endian doubles, first how many timers there are,
 * then their deadlines over minutes, their dense deadlines, and the half to cancel in its order.
 */
public final class NettyWheel {
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

  public static void main(String[] args) throws Exception {
    System.out.println("{\"ready\":true}");
    try (Scanner files = new Scanner(System.in)) {
      while (files.hasNextLine()) {
        System.out.println(measure(Path.of(files.nextLine())));
        System.gc();
      }
    }
  }

  private static String measure(Path file) throws Exception {
    ByteBuffer numbers = ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.LITTLE_ENDIAN);
    int count = (int) numbers.getDouble();
    double[] spread = take(numbers, count);
    double[] dense = take(numbers, count);
    double[] half = take(numbers, count / 2);
    Timeout[] timeouts = new Timeout[count];
    long before = liveBytes();

    Wheel wheel = new Wheel();
    long startNs = System.nanoTime();
    for (int timer = 0; timer < count; timer++) timeouts[timer] = wheel.add(spread[timer]);
    double addNs = (double) (System.nanoTime() - startNs) / count;
    wheel.settle(count);
    double bytes = (double) (liveBytes() - before) / count;

    long workerNs = wheel.workerNs();
    startNs = System.nanoTime();
    for (double timer : half) timeouts[(int) timer].cancel();
    double cancelNs = (double) (System.nanoTime() - startNs) / half.length;
    wheel.settle(0);
    double unlinkNs = (double) (wheel.workerNs() - workerNs) / half.length;

    startNs = System.nanoTime();
    for (double timer : half) timeouts[(int) timer] = wheel.add(spread[(int) timer]);
    double againNs = (double) (System.nanoTime() - startNs) / half.length;
    wheel.stop();

    Wheel firing = new Wheel();
    firing.expect(count);
    // Late enough that all stand in their slots before the first is due: only firing is timed.
    double laterMs = 500 + count / 1_000.0;
    for (int timer = 0; timer < count; timer++) timeouts[timer] = firing.add(dense[timer] + laterMs);
    firing.settle(count);
    long firingNs = firing.workerNs();
    firing.awaitAll();
    double denseNs = (double) (firing.workerNs() - firingNs) / count;
    firing.stop();
    return String.format(
        java.util.Locale.ROOT,
        "{\"addNs\":%.2f,\"cancelNs\":%.2f,\"unlinkNs\":%.2f,\"addAgainNs\":%.2f,"
            + "\"fireDenseNs\":%.2f,\"bytes\":%.1f}",
        addNs, cancelNs, unlinkNs, againNs, denseNs, bytes);
  }

  private static double[] take(ByteBuffer numbers, int count) {
    double[] taken = new double[count];
    numbers.asDoubleBuffer().get(taken);
    numbers.position(numbers.position() + count * Double.BYTES);
    return taken;
  }

  private static long liveBytes() {
    System.gc();
    Runtime runtime = Runtime.getRuntime();
    return runtime.totalMemory() - runtime.freeMemory();
  }

  /** A timer with a tick of a millisecond and 4,096 slots, and the CPU time of its one thread. */
  private static final class Wheel {
    /** Netty's worker takes so many new timeouts from its queue per tick. */
    private static final int TAKEN_PER_TICK = 100_000;

    private Thread worker;
    private final AtomicLong left = new AtomicLong();
    private final CountDownLatch fired = new CountDownLatch(1);
    private final ThreadFactory threads = (work) -> worker = new Thread(work);
    private final HashedWheelTimer timer =
        new HashedWheelTimer(threads, 1, TimeUnit.MILLISECONDS, 4_096, false);
    private final TimerTask task =
        (timeout) -> {
          if (left.decrementAndGet() == 0) fired.countDown();
        };

    Wheel() {
      timer.start();
    }

    void expect(int count) {
      left.set(count);
    }

    Timeout add(double delayMs) {
      return timer.newTimeout(task, (long) (delayMs * 1e6), TimeUnit.NANOSECONDS);
    }

    /** Until the worker has put what was added into slots, or unlinked what was cancelled. */
    void settle(int added) throws InterruptedException {
      Thread.sleep(50 + 4L * added / TAKEN_PER_TICK);
    }

    void awaitAll() throws InterruptedException {
      fired.await();
    }

    long workerNs() {
      return THREADS.getThreadCpuTime(worker.getId());
    }

    void stop() {
      timer.stop();
    }
  }
}
